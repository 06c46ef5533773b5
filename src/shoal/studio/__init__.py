"""The labelling studio: a publisher's pages and an analyst's page, on the publisher's own machine.

Thin: it parses a request, calls `process`, shows the result. Web packages are imported in this room only, and only
when a studio is started.
"""
