// What a client must know of endpoints when it runs. Generated from the table of routes by `npm run docs`.

/** They create something, and take a key that lets the server do it once. */
export const CREATING: ReadonlySet<string> = new Set([
  'POST /api/runbooks',
  'POST /api/rehearsals',
  'POST /api/batches/{batchId}/what-if',
  'POST /api/batches',
  'POST /api/batches/{batchId}/members',
  'POST /api/batches/{batchId}/clone',
])

/** They change nothing, although they are no GET. */
export const READING: ReadonlySet<string> = new Set([
  'POST /api/runbooks/{name}/query/preview',
  'POST /api/runbooks/{name}/plan',
  'POST /api/runbooks/{name}/preview-message',
])

/** They need no token, and get none. */
export const WITHOUT_TOKEN: ReadonlySet<string> = new Set([
  'GET /api/health',
  'GET /api/ready',
  'GET /api/sign-in',
  'GET /api/sign-in/proof',
  'GET /api/openapi.json',
  'GET /api/docs',
])

/** Lists whose pages are as long as they are. */
export const WITHOUT_LIMIT: ReadonlySet<string> = new Set(['GET /api/catalogues'])
