// One HTTP request, sent once: no redirects, no retries, no decompression. A failure says whether the request can have reached
// the server. `node:http` because fetch gives up after five minutes without headers (a cmdlet may take fifteen) and does not
// say whether anything was sent.
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import { messageOf } from '../../base/errors/errors.ts'
import { proxyFromEnvironment } from '../../base/run/proxy.ts'

export interface HttpRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** Aborts the request, which then throws ConnectionLost like any other end without a response. */
  readonly signal: AbortSignal
  /**
   * Opens a new connection. A kept-alive one that the server is closing loses the request silently, which only idempotent
   * requests can afford.
   */
  readonly isOnNewConnection: boolean
  /** Replaces Node's DNS lookup. */
  readonly lookup?: LookupFunction
}

export interface HttpResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** No response came. `wasSent`: the server may have received the request, or part of it. */
export class ConnectionLost extends Error {
  override readonly name = 'Lost'
  readonly wasSent: boolean

  constructor(wasSent: boolean, cause: unknown) {
    super(messageOf(cause), { cause })
    this.wasSent = wasSent
  }
}

/** A page of a thousand mailboxes takes a few megabytes. */
const RESPONSE_BYTES_MAX = 32_000_000

/** Null goes straight to the service. */
const PROXY = proxyFromEnvironment()
const throughProxy = PROXY === null ? {} : { proxyEnv: PROXY }

const agents = (keepAlive: boolean) => ({
  'http:': new HttpAgent({ keepAlive, ...throughProxy }),
  'https:': new HttpsAgent({ keepAlive, ...throughProxy }),
})
const KEPT = agents(true)
const NEW = agents(false)

export function sendHttp(request: HttpRequest): Promise<HttpResponse> {
  const { method, headers, body, signal, isOnNewConnection, lookup } = request
  const url = new URL(request.url)
  const isTls = url.protocol === 'https:'
  const agent = (isOnNewConnection ? NEW : KEPT)[isTls ? 'https:' : 'http:']
  const bytes = body === null ? null : Buffer.from(body)
  const sent = {
    ...headers,
    // Exchange labels some error bodies as gzip that are not.
    'accept-encoding': 'identity',
    ...(bytes ? { 'content-length': String(bytes.length) } : {}),
  }
  return new Promise((resolve, reject) => {
    let isConnected = false
    const fail = (error: unknown) => reject(new ConnectionLost(isConnected, error))
    const options = { method, headers: sent, agent, signal, ...(lookup ? { lookup } : {}) }
    const outgoing = (isTls ? requestHttps : requestHttp)(url, options, (incoming) =>
      readResponse(incoming).then(resolve, fail),
    )
    outgoing.on('socket', (socket) => {
      const connected = () => {
        isConnected = true
      }
      if (socket.connecting) socket.once(isTls ? 'secureConnect' : 'connect', connected)
      else connected()
    })
    outgoing.on('error', fail)
    outgoing.end(bytes)
  })
}

async function readResponse(incoming: IncomingMessage): Promise<HttpResponse> {
  const parts: Buffer[] = []
  let length = 0
  for await (const part of incoming as AsyncIterable<Buffer>) {
    length += part.length
    if (length > RESPONSE_BYTES_MAX)
      throw new Error(`the response has more than ${RESPONSE_BYTES_MAX} bytes`)
    parts.push(part)
  }
  const headers = new Headers()
  for (const [name, values] of Object.entries(incoming.headersDistinct))
    for (const value of values ?? []) headers.append(name, value)
  return {
    status: incoming.statusCode ?? 0,
    headers,
    text: Buffer.concat(parts).toString('utf8'),
  }
}
