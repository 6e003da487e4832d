// One HTTP request, once. No redirects, no repeating, no decompression, and an honest word on what a failure means: whether the
// request can have reached the server. `node:http` and not `fetch`, because fetch gives up after five minutes without headers
// (a cmdlet may take fifteen) and does not say whether anything was sent.
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import { messageOf } from '../../errors.ts'

export interface HttpRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** Aborts it at any moment; what it throws then is a Lost, like any other end without an answer. */
  readonly signal: AbortSignal
  /**
   * On a connection of its own. A kept connection that the server is just closing loses the request without a word, and only
   * what may be repeated can take that lightly.
   */
  readonly isAlone: boolean
  /** How a host is looked up, when that matters; Node's own way unless given. */
  readonly lookup?: LookupFunction
}

export interface HttpAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** No answer came. `wasSent`: the server may have got the request, or parts of it. */
export class Lost extends Error {
  override readonly name = 'Lost'
  readonly wasSent: boolean

  constructor(wasSent: boolean, cause: unknown) {
    super(messageOf(cause), { cause })
    this.wasSent = wasSent
  }
}

/** A page of a thousand mailboxes has some megabytes. */
const ANSWER_BYTES_MAX = 32_000_000

const AGENTS = {
  'http:': new HttpAgent({ keepAlive: true }),
  'https:': new HttpsAgent({ keepAlive: true }),
} as const

export function sendHttp(request: HttpRequest): Promise<HttpAnswer> {
  const { method, headers, body, signal, isAlone, lookup } = request
  const url = new URL(request.url)
  const isTls = url.protocol === 'https:'
  const agent = isAlone ? false : AGENTS[isTls ? 'https:' : 'http:']
  const bytes = body === null ? null : Buffer.from(body)
  const sent = {
    ...headers,
    // Exchange answers some refusals with bytes that it calls gzip and that are not.
    'accept-encoding': 'identity',
    ...(bytes ? { 'content-length': String(bytes.length) } : {}),
  }
  return new Promise((resolve, reject) => {
    let isConnected = false
    const fail = (error: unknown) => reject(new Lost(isConnected, error))
    const options = { method, headers: sent, agent, signal, ...(lookup ? { lookup } : {}) }
    const outgoing = (isTls ? requestHttps : requestHttp)(url, options, (incoming) =>
      readAnswer(incoming).then(resolve, fail),
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

async function readAnswer(incoming: IncomingMessage): Promise<HttpAnswer> {
  const parts: Buffer[] = []
  let length = 0
  for await (const part of incoming as AsyncIterable<Buffer>) {
    length += part.length
    if (length > ANSWER_BYTES_MAX)
      throw new Error(`the answer has more than ${ANSWER_BYTES_MAX} bytes`)
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
