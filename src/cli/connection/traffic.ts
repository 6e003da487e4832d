// `fetch` for the command line: `--debug` shows the traffic without secrets, and an upload its progress.
import { redact } from '../../base/log/redact.ts'
import type { Clock } from '../../base/run/clock.ts'
import { fetchFault } from '../../base/run/fetch-fault.ts'

export interface TrafficOptions {
  readonly clock: Clock
  /** Receives a line per request and response, without secrets. */
  readonly debug?: ((line: string) => void) | undefined
  /** Receives a text while a file is sent. */
  readonly progress?: ((text: string) => void) | undefined
}

const BODY_SHOWN_MAX = 2_000

export const observedFetch =
  ({ clock, debug, progress }: TrafficOptions): typeof fetch =>
  async (url, init = {}) => {
    const { method, body } = init
    const startedMs = +clock.now()
    debug?.(`> ${method} ${String(url)}${typeof body === 'string' ? ` ${masked(body)}` : ''}`)
    try {
      const sent = body instanceof FormData && progress ? counted(init, body, progress) : init
      const response = await fetch(url, sent)
      const ms = +clock.now() - startedMs
      debug?.(`< ${response.status} in ${ms} ms, request ${response.headers.get('x-request-id')}`)
      return response
    } catch (error) {
      debug?.(`< ${fetchFault(error)}`)
      throw error
    }
  }

const masked = (body: string): string =>
  JSON.stringify(redact(JSON.parse(body))).slice(0, BODY_SHOWN_MAX)

/** The form as a stream that reports how much of it is sent. */
function counted(
  init: RequestInit,
  form: FormData,
  progress: (text: string) => void,
): RequestInit & { readonly duplex: 'half' } {
  const whole = new Response(form)
  const headers = new Headers(init.headers)
  headers.set('content-type', whole.headers.get('content-type')!)
  const total = bytesIn(form)
  let sent = 0
  const counting = new TransformStream<Uint8Array, Uint8Array>({
    transform: (bytes, controller) => {
      sent = Math.min(total, sent + bytes.length)
      progress(`Sending ${barText(sent, total)}`)
      controller.enqueue(bytes)
    },
  })
  return { ...init, headers, body: whole.body!.pipeThrough(counting), duplex: 'half' }
}

const bytesIn = (form: FormData): number =>
  [...form.values()].reduce((sum, part) => sum + (typeof part === 'string' ? 0 : part.size), 0)

const BAR_CELLS = 30

function barText(sent: number, total: number): string {
  const share = total === 0 ? 1 : sent / total
  const full = Math.floor(share * BAR_CELLS)
  return `${'█'.repeat(full)}${'░'.repeat(BAR_CELLS - full)} ${Math.floor(share * 100)} %`
}
