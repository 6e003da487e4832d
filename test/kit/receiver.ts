// A receiver of notifications on loopback: a Teams workflow that refuses bodies without `attachments`, a webhook, a Graph that takes mail.
// It answers as the test says, and keeps what arrived.
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface Arrived {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Answer {
  readonly status: number
  readonly headers?: Record<string, string>
}

export interface Receiver {
  readonly url: string
  readonly arrived: Arrived[]
  /** The next answers; then 202. */
  readonly answers: Answer[]
  /** While it is set, requests arrive and wait for it before they are answered. */
  before: Promise<void> | null
  close(): Promise<void>
}

export async function openReceiver(): Promise<Receiver> {
  const arrived: Arrived[] = []
  const answers: Answer[] = []
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const path = request.url!
    arrived.push({ path, headers: request.headers, body })
    if (receiver.before) await receiver.before
    const isCard = !path.startsWith('/teams') || 'attachments' in JSON.parse(body)
    const { status, headers = {} } = isCard ? (answers.shift() ?? { status: 202 }) : { status: 400 }
    response.writeHead(status, headers).end(status >= 400 ? 'not now' : '')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrived,
    answers,
    before: null,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return receiver
}
