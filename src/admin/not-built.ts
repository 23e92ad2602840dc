import { Reply } from './api.ts'

const page = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Tollgate</title>
<h1>The console is not built</h1>
<p>Run <code>npm ci</code>, without <code>--omit=dev</code>, in the folder of the gateway's sources, then load this page again.
The API under <code>/api</code> works without it, with <a href="/api/pricing">/api/pricing</a> and
<a href="/openapi.json">/openapi.json</a>.</p>
</html>
`

/** The response for every page if the gateway was installed from source without the development packages. */
export function notBuilt(): Reply {
  return new Reply(503, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }, page)
}
