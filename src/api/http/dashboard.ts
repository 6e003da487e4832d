// The dashboard's files: built ones, kept in memory, with a content security policy of their own. Every address that is none of the
// API's shows the page: which view it means is the page's business.
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { STYLE_SOURCE } from '../reports/page-style.ts'

/** Seen from src/api/http in a clone and from lib/api/http in a package. */
const FOLDER = fileURLToPath(new URL('../../../dashboard/dist', import.meta.url))
const PAGE = 'index.html'
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
}
const BASE = '<base href="/">'
/** Vite names these by their content. */
const FOREVER = 'public, max-age=31536000, immutable'

interface File {
  readonly type: string
  readonly plain: Buffer
  readonly gzipped: () => Buffer
  readonly etag: string
  readonly cacheControl: string
}

export interface DashboardOptions {
  /** The path under which a proxy shows the API, with a slash at both ends. */
  readonly publicPath: string
  /** Where people sign in; null on one machine. */
  readonly issuer: string | null
  /** Another folder, for tests. */
  readonly folder?: string
}

/** The page asks the API and the issuer, and nobody else; no script or style but its own files. */
const policyOf = (issuer: string | null): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    // A report that the page opens from memory has the page's policy.
    `style-src 'self' ${STYLE_SOURCE}`,
    "img-src 'self'",
    `connect-src 'self'${issuer === null ? '' : ` ${new URL(issuer).origin}`}`,
    "base-uri 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

/**
 * Answers with a file or the page; false for an address or method that is not the dashboard's. Public: the files hold no data, and the sign-in
 * page must load before anybody has signed in.
 */
export type AnswerWithPage = (request: FastifyRequest, reply: FastifyReply) => boolean

export function dashboardFiles(options: DashboardOptions): AnswerWithPage {
  const files = readFiles(options)
  const policy = policyOf(options.issuer)
  const page = files.get(PAGE) ?? fileOf('.html', Buffer.from(NOT_BUILT), 'no-cache')
  return (request, reply) => {
    const path = request.url.split('?')[0]!
    if (request.method !== 'GET' || isOfApi(path)) return false
    const file = files.get(path.slice(1))
    // The start answers everybody: probes and people with curl ask it. Elsewhere a program gets an error, not a page.
    if (!file && path !== '/' && !/\btext\/html\b/.test(request.headers.accept ?? '')) return false
    sendFile(file ?? page, policy, request, reply)
    return true
  }
}

const isOfApi = (path: string): boolean => /^\/(?:api|metrics)(?:\/|$)/.test(path)

function readFiles({ folder = FOLDER, publicPath }: DashboardOptions): Map<string, File> {
  const files = new Map<string, File>()
  if (!existsSync(join(folder, PAGE))) return files
  for (const name of globSync('**/*', { cwd: folder })) {
    const path = join(folder, name)
    if (!statSync(path).isFile() || !(extname(name) in TYPES)) continue
    const read = readFileSync(path)
    const bytes =
      name === PAGE
        ? Buffer.from(read.toString().replace(BASE, `<base href="${publicPath}">`))
        : read
    const isNamedByContent = name.startsWith('assets')
    files.set(
      name.replaceAll('\\', '/'),
      fileOf(extname(name), bytes, isNamedByContent ? FOREVER : 'no-cache'),
    )
  }
  return files
}

function fileOf(extension: string, plain: Buffer, cacheControl: string): File {
  let gzipped: Buffer | undefined
  return {
    type: TYPES[extension]!,
    plain,
    // When somebody asks for it: compressing all files was a tenth of the time in which the API starts.
    gzipped: () => (gzipped ??= gzipSync(plain)),
    etag: `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`,
    cacheControl,
  }
}

function sendFile(file: File, policy: string, request: FastifyRequest, reply: FastifyReply): void {
  const { type, plain, gzipped, etag, cacheControl } = file
  reply.headers({
    'content-security-policy': policy,
    'cache-control': cacheControl,
    etag,
    vary: 'accept-encoding',
  })
  if (request.headers['if-none-match'] === etag) return void reply.status(304).send()
  reply.status(200).type(type)
  if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return void reply.send(plain)
  reply.header('content-encoding', 'gzip').send(gzipped())
}

const NOT_BUILT = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>matoolkit</title></head>
<body><h1>The dashboard is not built</h1><p>Run <code>npm run dashboard</code> in the clone, then start the program again.
The API answers: <a href="api/docs">its documentation</a>.</p></body></html>
`
