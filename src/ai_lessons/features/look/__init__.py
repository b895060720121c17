"""The page `ai-lessons look`, and the site that `admin export --to site` writes.

Begin with `server` (who may ask, what is changed); `pages` draws what each page shows, by the
templates beside.
"""
