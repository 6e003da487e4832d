// A fake SQL Statement Execution API after its documentation: slow statements, chunks, storage links, failures with HTTP 200,
// the inline limit, cancelling. Tests switch faults on.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'

export interface DatabricksAnswer {
  readonly columns: readonly (readonly [name: string, type: string])[]
  /** The rows of each chunk, created on request. */
  readonly chunks: readonly (() => readonly (readonly (string | null)[])[])[]
  readonly totalRows: number
  /** How often it reports "not ready". `never`: until cancelled. */
  readonly polls?: number | 'never'
  readonly truncated?: true
  /** Exceeds the inline limit. */
  readonly isLarge?: true
  /** Cuts the connection at this chunk. */
  readonly dropAtChunk?: number
}

export interface DatabricksFailure {
  readonly errorCode: string
  readonly message: string
  readonly polls?: number
}

export interface DatabricksOptions {
  readonly token: string
  readonly warehouseId: string
  answer(sql: string): DatabricksAnswer | DatabricksFailure
}

export interface DatabricksServer {
  readonly url: string
  /** `POST INLINE`, `GET 2`, `CHUNK 1`, `LINK 1`, `CANCEL`. */
  readonly calls: string[]
  /** Responses for the next API calls, used up one by one. */
  readonly busy: { status: number; retryAfterSec?: number }[]
  /** Resolves when an endless statement runs. */
  whenRunning(): Promise<void>
  close(): Promise<void>
}

interface Running {
  readonly id: string
  readonly disposition: string
  readonly answer: DatabricksAnswer | DatabricksFailure
  pollsLeft: number
  isCancelled: boolean
}

const STATEMENTS = '/api/2.0/sql/statements'
const SIGNATURE = 'sig=storage-secret'

export async function startDatabricksServer(options: DatabricksOptions): Promise<DatabricksServer> {
  const workspace = new Workspace(options)
  const server = createServer((request, response) => void workspace.take(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  workspace.url = url
  return {
    url,
    calls: workspace.calls,
    busy: workspace.busy,
    whenRunning: () => workspace.whenRunning(),
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

class Workspace {
  readonly #options: DatabricksOptions
  readonly #statements = new Map<string, Running>()
  readonly calls: string[] = []
  readonly busy: { status: number; retryAfterSec?: number }[] = []
  url = ''

  constructor(options: DatabricksOptions) {
    this.#options = options
  }

  async whenRunning(): Promise<void> {
    const isRunning = () =>
      [...this.#statements.values()].some(
        ({ pollsLeft, isCancelled }) => !Number.isFinite(pollsLeft) && !isCancelled,
      )
    while (!isRunning()) await new Promise((resolve) => setImmediate(resolve))
  }

  async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    const path = new URL(request.url ?? '', 'http://x').pathname
    const reply = (status: number, answer: object, headers = {}) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(JSON.stringify(answer))
    }
    const drop = () => void request.socket.destroy()
    if (path.startsWith('/storage/')) return this.#giveFile(request, path, reply)
    const busy = this.busy.shift()
    if (busy) {
      const after = busy.retryAfterSec === undefined ? {} : { 'retry-after': busy.retryAfterSec }
      return reply(busy.status, { error_code: 'RESOURCE_EXHAUSTED', message: 'busy' }, after)
    }
    if (request.headers.authorization !== `Bearer ${this.#options.token}`) {
      const message = `Credential was not sent or was of an unsupported type: ${request.headers.authorization}`
      return reply(401, { error_code: 'UNAUTHENTICATED', message })
    }
    if (request.method === 'POST' && path === STATEMENTS) return this.#start(body, reply)
    const [id = '', ...rest] = path.slice(STATEMENTS.length + 1).split('/')
    const running = this.#statements.get(id)
    if (!running) return reply(404, { error_code: 'NOT_FOUND', message: `no statement ${id}` })
    if (rest[0] === 'cancel') {
      this.calls.push('CANCEL')
      running.isCancelled = true
      return reply(200, {})
    }
    if (rest[0] === 'result') return this.#giveChunk(running, Number(rest[2]), reply, drop)
    this.calls.push('GET')
    return reply(200, this.#stateOf(running))
  }

  #start(body: string, reply: (status: number, answer: object) => void): void {
    const asked = JSON.parse(body) as Record<string, string>
    this.calls.push(`POST ${asked.disposition}`)
    if (asked.warehouse_id !== this.#options.warehouseId)
      return reply(404, { error_code: 'NOT_FOUND', message: `no warehouse ${asked.warehouse_id}` })
    const waitSec = Number.parseInt(asked.wait_timeout ?? '', 10)
    if (asked.format !== 'JSON_ARRAY' || !(waitSec === 0 || (waitSec >= 5 && waitSec <= 50)))
      return reply(400, { error_code: 'BAD_REQUEST', message: 'wait_timeout or format' })
    const answer = this.#options.answer(asked.statement ?? '')
    const running: Running = {
      id: `statement-${this.#statements.size + 1}`,
      disposition: asked.disposition ?? '',
      answer,
      pollsLeft: answer.polls === 'never' ? Number.POSITIVE_INFINITY : (answer.polls ?? 0),
      isCancelled: false,
    }
    this.#statements.set(running.id, running)
    reply(200, this.#stateOf(running))
  }

  #stateOf(running: Running): object {
    const { id, answer } = running
    const failed = (error_code: string, message: string) => ({
      statement_id: id,
      status: { state: 'FAILED', error: { error_code, message } },
    })
    if (running.isCancelled) return { statement_id: id, status: { state: 'CANCELED' } }
    if (running.pollsLeft > 0) {
      running.pollsLeft -= 1
      return { statement_id: id, status: { state: running.pollsLeft % 2 ? 'PENDING' : 'RUNNING' } }
    }
    if ('errorCode' in answer) return failed(answer.errorCode, answer.message)
    if (answer.isLarge && running.disposition === 'INLINE')
      return failed(
        'BAD_REQUEST',
        'Inline byte limit exceeded. Statements executed with disposition=INLINE can have a result size of at most 26214400 bytes. Please execute the statement with disposition=EXTERNAL_LINKS if you want to download the full result.',
      )
    const columns = answer.columns.map(([name, type_name], position) => ({
      name,
      type_name,
      position,
      type_text: type_name,
    }))
    return {
      statement_id: id,
      status: { state: 'SUCCEEDED' },
      manifest: {
        format: 'JSON_ARRAY',
        schema: { column_count: columns.length, columns: columns.toReversed() },
        total_chunk_count: answer.chunks.length,
        total_row_count: answer.totalRows,
        truncated: answer.truncated ?? false,
      },
      // An empty result has no data_array.
      result: answer.chunks.length === 0 ? {} : this.#chunkOf(running, 0),
    }
  }

  #chunkOf(running: Running, index: number): object {
    const answer = running.answer as DatabricksAnswer
    const next = index + 1 < answer.chunks.length ? { next_chunk_index: index + 1 } : {}
    if (running.disposition === 'INLINE')
      return { chunk_index: index, ...next, data_array: answer.chunks[index]!() }
    const link = {
      chunk_index: index,
      external_link: `${this.url}/storage/${running.id}/${index}?${SIGNATURE}`,
      http_headers: { 'x-storage-key': 'storage-key' },
      ...next,
    }
    return { external_links: [link] }
  }

  #giveChunk(
    running: Running,
    index: number,
    reply: (status: number, answer: object) => void,
    drop: () => void,
  ): void {
    this.calls.push(`CHUNK ${index}`)
    if ((running.answer as DatabricksAnswer).dropAtChunk === index) return drop()
    reply(200, this.#chunkOf(running, index))
  }

  /** Storage accepts its own signature only and refuses other authorisation. */
  #giveFile(
    request: IncomingMessage,
    path: string,
    reply: (status: number, answer: object) => void,
  ): void {
    const [, , id = '', index] = path.split('/')
    this.calls.push(`LINK ${index}`)
    const { authorization, 'x-storage-key': key } = request.headers
    const isRight = !authorization && key === 'storage-key' && request.url?.endsWith(SIGNATURE)
    const running = this.#statements.get(id)
    if (!isRight || !running) return reply(403, {})
    reply(200, (running.answer as DatabricksAnswer).chunks[Number(index)]!())
  }
}
