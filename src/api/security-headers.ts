// The headers of every answer. This is an API: nothing of it may be framed, run, sniffed or kept by a browser or a cache. The
// one page it has (the documentation) brings no script, and its style is allowed by its hash alone.
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'cache-control': 'no-store',
}

const CORS_METHODS = 'GET, POST, PUT, DELETE'
const CORS_REQUEST_HEADERS = 'authorization, content-type, idempotency-key, if-match, last-event-id'
const CORS_ANSWER_HEADERS = 'etag, retry-after, x-request-id, idempotent-replay'

/** What a page of this origin needs to be let in; nothing unless the origin is on the list. Credentials are never allowed. */
export function corsHeaders(
  origin: string | undefined,
  origins: readonly string[],
): Readonly<Record<string, string>> {
  if (origin === undefined || !origins.includes(origin)) return {}
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-methods': CORS_METHODS,
    'access-control-allow-headers': CORS_REQUEST_HEADERS,
    'access-control-expose-headers': CORS_ANSWER_HEADERS,
    'access-control-max-age': '600',
    vary: 'origin',
  }
}
