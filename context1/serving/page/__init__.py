"""The page at `/`: static files without a build step, and the headers that keep them harmless.

Nothing outside the server is loaded, nothing inline runs, nobody can frame the page or send its form away.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

FOLDER = Path(__file__).parent

TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def page_routes() -> list[Route]:
    """`/` and one route for each script and style sheet beside it (`/page.css`, `/page.js`, ...)."""
    files = sorted(path for path in FOLDER.iterdir() if path.suffix in TYPES)
    return [_route(path) for path in files]


def _route(path: Path) -> Route:
    content = path.read_bytes()
    headers = HEADERS | {"ETag": f'"{hashlib.sha256(content).hexdigest()[:16]}"'}

    async def serve(request: Request) -> Response:
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=TYPES[path.suffix])

    return Route("/" if path.name == "index.html" else f"/{path.name}", serve, include_in_schema=False)
