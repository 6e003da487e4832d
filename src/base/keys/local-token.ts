// The token of an API that serves one machine. It is random, new at each start, and never sent before the process at the other end
// has proven that it has the same token: a port may belong to another user by now.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

const RANDOM_BYTES = 32
const RANDOM = /^[\w-]{43}$/

/** A token or a nonce. */
export const randomText = (): string => randomBytes(RANDOM_BYTES).toString('base64url')

/**
 * The token of a second person, so that an approval can be tried on one machine. Who has the first one can make it: it keeps no one out,
 * and the audit says which of the two it was.
 */
export const secondToken = (token: string): string =>
  createHmac('sha256', token).update('second person of this machine').digest('base64url')

/** Tokens of an issuer have dots. */
export const isLocalToken = (text: string): boolean => RANDOM.test(text)

/**
 * What only a process with this token can say about this nonce. It holds for one address: a process elsewhere could pass the nonce
 * on to the right one and the answer back.
 */
export const localProof = (token: string, origin: string, nonce: string): string =>
  createHmac('sha256', token).update(`matoolkit ${origin} ${nonce}`).digest('base64url')

export function isLocalProof(given: string, expected: string): boolean {
  const [one, two] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === two.length && timingSafeEqual(one, two)
}

export const isLoopback = (host: string): boolean =>
  /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/i.test(host)

/** The token stands in the fragment, which browsers send to nobody; the page removes it at once. */
export function dashboardLink(url: string, token: string): string {
  const link = new URL(url)
  if (!link.pathname.endsWith('/')) link.pathname += '/'
  link.hash = `token=${token}`
  return link.href
}
