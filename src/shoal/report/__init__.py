"""HTML for people, from results only.

`summarise` draws from the originals what the page may show, aggregates over a crowd, and `render` turns a certificate
into one self-contained page. The page sees the certificate and nothing else.
"""

from shoal.report.figures import summarise
from shoal.report.page import Audience, render

__all__ = ["Audience", "render", "summarise"]
