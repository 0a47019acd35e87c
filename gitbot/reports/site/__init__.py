"""The page on the wall: what the published documents of a cluster say, as a folder of HTML files.

No script, no address that is loaded, light and dark. `site_files` needs nothing but the documents.
"""

from gitbot.reports.site.files import Draw, fleet_files, site_drawings, site_files, with_age
from gitbot.reports.site.page_model import SiteDocuments

__all__ = [
    "Draw",
    "SiteDocuments",
    "fleet_files",
    "site_drawings",
    "site_files",
    "with_age",
]
