"""Small real documents, made by hand so that what reads them is not checked against itself."""

import zipfile
from io import BytesIO

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org"


def pdf(*pages: str) -> bytes:
    """A PDF with the title `Notes` and a line of text on each page."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(count))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n, text in enumerate(pages):
        drawn = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        font = "/Resources << /Font << /F1 3 0 R >> >>"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R {font} /MediaBox [0 0 612 792] /Contents {5 + 2 * n} 0 R >>"
        )
        objects.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
    objects.append("<< /Title (Notes) >>")
    out, offsets = "%PDF-1.4\n", []
    for number, said in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{said}\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    trailer = f"<< /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R >>"
    end = f"trailer\n{trailer}\nstartxref\n{len(out)}\n%%EOF\n"
    return f"{out}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{end}".encode()


def docx(heading: str, text: str) -> bytes:
    """A Word document of a heading and a paragraph."""
    main = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    styles = (
        '<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style>'
    )
    body = (
        f'<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>{heading}</w:t></w:r></w:p>'
        f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"
    )
    relations = f"{_OFFICE}/officeDocument/2006/relationships"
    files = {
        "[Content_Types].xml": f'<Types xmlns="{_OFFICE}/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{main}.document.main+xml"/>'
        f'<Override PartName="/word/styles.xml" ContentType="{main}.styles+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{_OFFICE}/package/2006/relationships">'
        f'<Relationship Id="r1" Type="{relations}/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{_OFFICE}/package/2006/relationships">'
        f'<Relationship Id="r1" Type="{relations}/styles" Target="styles.xml"/></Relationships>',
        "word/styles.xml": f'<w:styles xmlns:w="{_WORD}">{styles}</w:styles>',
        "word/document.xml": f'<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>',
    }
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as inside:
        for name, said in files.items():
            inside.writestr(name, f'<?xml version="1.0"?>{said}')
    return packed.getvalue()


def put_zeros(archive: zipfile.ZipFile, name: str, size: int) -> None:
    """A file of zeros in an archive, a thousandth as long there."""
    piece = b"\0" * (1 << 20)
    with archive.open(name, "w") as file:
        for _ in range(size >> 20):
            file.write(piece)
