"""The tables of the catalog."""

from __future__ import annotations

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE folders (folder TEXT PRIMARY KEY, digest BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    folder TEXT NOT NULL, name TEXT NOT NULL,
    mtime INTEGER NOT NULL, ctime INTEGER NOT NULL, size INTEGER NOT NULL, inode INTEGER NOT NULL,
    mode INTEGER NOT NULL, racy INTEGER NOT NULL, hash TEXT NOT NULL,
    PRIMARY KEY (folder, name)
) WITHOUT ROWID;
CREATE TABLE problems (file TEXT NOT NULL, path TEXT NOT NULL, line INTEGER NOT NULL, message TEXT NOT NULL);
CREATE INDEX problems_file ON problems (file);
-- scripts that are kept where they are: the file that describes each, and the stamp of its code when that was read
CREATE TABLE elsewhere (file TEXT PRIMARY KEY, id TEXT NOT NULL, path TEXT NOT NULL, stamp TEXT NOT NULL) WITHOUT ROWID;

-- standing: 0 shown; 1 a rule of the working tree, which counts only as approved; 2 what another tier shows as well.
-- stated: the id that the text states; id: the one that the entry goes by, another one where that is taken.
-- The check is the wall: no statement, however wrong, can show a rule that did not come from the approval branch.
CREATE TABLE entries (
    key INTEGER PRIMARY KEY,
    source TEXT NOT NULL CHECK (source IN ('files', 'approved')),
    file TEXT NOT NULL,
    standing INTEGER NOT NULL CHECK (standing <> 0 OR kind <> 'rule' OR source = 'approved'),
    stated TEXT NOT NULL, id TEXT NOT NULL, tail TEXT NOT NULL, handle TEXT NOT NULL, kind TEXT NOT NULL,
    project TEXT NOT NULL, path TEXT NOT NULL, side_path TEXT, status TEXT NOT NULL, created TEXT NOT NULL,
    title TEXT NOT NULL, tags TEXT NOT NULL, versions TEXT NOT NULL, snippet TEXT NOT NULL, summary TEXT NOT NULL,
    hash TEXT, side_hash TEXT, code_hash TEXT
);
CREATE UNIQUE INDEX entries_file ON entries (file, source);
CREATE INDEX entries_stated ON entries (stated);
CREATE TABLE taken (id TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
CREATE UNIQUE INDEX shown_id ON entries (id, hash, side_hash, code_hash, path) WHERE standing = 0;
CREATE INDEX shown_tail ON entries (tail) WHERE standing = 0;
CREATE INDEX shown_newest ON entries (created DESC, id DESC, status, kind, project) WHERE standing = 0;
CREATE INDEX shown_path ON entries (path) WHERE standing = 0;
CREATE INDEX shown_side_path ON entries (side_path) WHERE standing = 0 AND side_path IS NOT NULL;
CREATE INDEX hidden ON entries (standing) WHERE standing <> 0;
CREATE INDEX approved ON entries (id, standing, path, hash) WHERE source = 'approved';
CREATE TABLE tags (
    key INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE, tag TEXT NOT NULL, PRIMARY KEY (key, tag)
) WITHOUT ROWID;
CREATE TABLE versions (
    key INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE, version TEXT NOT NULL, PRIMARY KEY (key, version)
) WITHOUT ROWID;
CREATE TABLE links (
    key INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE,
    relation TEXT NOT NULL, target TEXT NOT NULL, weight REAL, PRIMARY KEY (key, relation, target)
) WITHOUT ROWID;
CREATE INDEX links_target ON links (target);
-- the whole frontmatter as JSON and how the text begins, apart from the entries, so that lists do not read past it
CREATE TABLE fields (
    key INTEGER PRIMARY KEY REFERENCES entries ON DELETE CASCADE, fields TEXT NOT NULL, opening TEXT NOT NULL,
    length INTEGER NOT NULL
);
-- the words of lessons and rules, see `search.terms`; `length` above is their number
CREATE TABLE terms (
    term TEXT NOT NULL, key INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE, times INTEGER NOT NULL,
    PRIMARY KEY (term, key)
) WITHOUT ROWID;
CREATE INDEX terms_key ON terms (key);
-- what features keep of an entry: a JSON object each, see `extensions.Feature.facts`
CREATE TABLE facts (
    key INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE, feature TEXT NOT NULL, facts TEXT NOT NULL,
    PRIMARY KEY (feature, key)
) WITHOUT ROWID;
CREATE INDEX facts_key ON facts (key);
-- the shapes of failures that entries keep: lines of words
CREATE TABLE failures (key INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE, words TEXT NOT NULL);
CREATE INDEX failures_key ON failures (key);
CREATE VIEW shown AS SELECT * FROM entries WHERE standing = 0;
-- the same entries with what filters ask for: it stands in the index, so that no row is read only to be counted
CREATE VIEW counted AS SELECT key, status, kind, project FROM entries INDEXED BY shown_newest WHERE standing = 0;
"""
