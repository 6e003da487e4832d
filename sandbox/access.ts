// Who may talk to the sandbox: requests must be for one of its own names, so that a web page cannot reach it under a name that it
// has pointed at this machine, and the control endpoints need the token of this start.
import { timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i

/** The addresses that stand for every address of the machine. */
const ANY_ADDRESS: readonly string[] = ['0.0.0.0', '::']

export interface OwnHosts {
  /** Where it listens. */
  readonly host: string
  /** Further names, such as that of its container. */
  readonly names: readonly string[]
}

/**
 * True for the loopback, the host it listens on and its further names, with any port: a port may be forwarded. A sandbox on every
 * address also answers to bare addresses, because only a name can be pointed elsewhere.
 */
export function isOwnHost(header: string | undefined, { host, names }: OwnHosts): boolean {
  const name = URL.parse(`http://${header}`)?.hostname.replace(/^\[(.*)\]$/, '$1')
  if (header === undefined || name === undefined) return false
  const own = [host, ...names].map((one) => one.toLowerCase())
  return LOOPBACK.test(name) || own.includes(name) || (ANY_ADDRESS.includes(host) && isIP(name) > 0)
}

export const hasToken = (authorization: string | undefined, token: string): boolean =>
  isSame(authorization ?? '', `Bearer ${token}`)

/** How long it takes says nothing about the token. */
function isSame(given: string, expected: string): boolean {
  const [one, two] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === two.length && timingSafeEqual(one, two)
}
