// The typed client, as commands use it: it says what it waits for, sends no change to an API that may be the wrong one, and its errors have
// exit codes. How requests are sent and repeated is the transport's business (api/client).
import {
  AdminApiError,
  clientOver,
  type Endpoint,
  type MatoolkitClient,
  type RequestOf,
} from '../../api/client/client.ts'
import { isReading, type Send, transport } from '../../api/client/transport.ts'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { fetchFault } from '../../base/run/fetch-fault.ts'
import { ApiRefusal } from './api-refusal.ts'
import { observedFetch, type TrafficOptions } from './traffic.ts'

export interface CommandClientOptions extends TrafficOptions {
  readonly apiUrl: string
  /** The access token to send, null if there is none. `isRefused`: the last one was refused, get another. */
  token(isRefused: boolean): Promise<string | null>
  /** Why this may be the wrong API; null when it is certain. Changes are then refused with INSTANCE_UNCLEAR. */
  readonly doubt?: string | null
  /** Ends every request that has no signal of its own. */
  readonly signal?: AbortSignal | undefined
}

export interface CommandClient extends MatoolkitClient {
  readonly apiUrl: string
  /** A file, read as it arrives. Throws API_UNREACHABLE when the connection breaks: nobody takes a part for the whole. */
  download(open: () => Promise<Response>): AsyncGenerator<Uint8Array>
}

/** For endpoints that differ in one word of their path: their parts are checked where they are made. */
export const givenTo = <E extends Endpoint>(
  params: object | undefined,
  body: object,
): RequestOf<E> => ({ params, body }) as unknown as RequestOf<E>

export function openClient(options: CommandClientOptions): CommandClient {
  const { apiUrl, clock, token } = options
  const send = transport({
    url: apiUrl,
    token,
    wait: (ms, signal) => clock.wait(ms, signal),
    fetch: observedFetch(options),
  })
  return {
    apiUrl,
    ...clientOver(guarded(send, options)),
    download: (open) => chunksOf(open, options),
  }
}

const QUIET_MS = 1_000

const guarded =
  (send: Send, { apiUrl, clock, progress, doubt = null, signal }: CommandClientOptions): Send =>
  async (endpoint, parts, call, isRaw) => {
    if (doubt !== null && !isReading(endpoint))
      throw new MatoolkitError('INSTANCE_UNCLEAR', { doubt })
    const done = new AbortController()
    if (progress) {
      void clock.wait(QUIET_MS, done.signal).then(() => {
        if (!done.signal.aborted) progress(`Waiting for ${new URL(apiUrl).host} …`)
      })
    }
    try {
      return await send(endpoint, parts, { signal, ...call }, isRaw)
    } catch (error) {
      throw presentable(error, apiUrl)
    } finally {
      done.abort()
      progress?.('')
    }
  }

/** With an exit code. */
function presentable(error: unknown, url: string): unknown {
  // A limit of the caller's own.
  if (error instanceof DOMException && error.name === 'TimeoutError')
    return new MatoolkitError(
      'API_UNREACHABLE',
      { url, reason: fetchFault(error) },
      { cause: error },
    )
  if (!(error instanceof AdminApiError)) return error
  const { status, code, cause } = error
  if (status === 0)
    return new MatoolkitError('API_UNREACHABLE', { url, reason: fetchFault(cause) }, { cause })
  return code === 'UNKNOWN'
    ? new MatoolkitError('API_NOT_UNDERSTOOD', { url, status }, { cause: error })
    : new ApiRefusal(error)
}

const MB = 1_000_000

async function* chunksOf(
  open: () => Promise<Response>,
  { apiUrl: url, progress }: CommandClientOptions,
): AsyncGenerator<Uint8Array> {
  const { body } = await open()
  let received = 0
  try {
    for await (const bytes of body!) {
      received += bytes.length
      if (received > MB) progress?.(`Received ${Math.floor(received / MB)} MB …`)
      yield bytes
    }
  } catch (error) {
    if (error instanceof MatoolkitError) throw error
    throw new MatoolkitError(
      'API_UNREACHABLE',
      { url, reason: fetchFault(error) },
      { cause: error },
    )
  } finally {
    progress?.('')
  }
}
