// Proxy addresses such as "SMTP:ada@contoso.example": a type in capitals marks the primary one of its type. Compared without
// case, stored as written.

const ADDRESS = /^[^@\s:]+@[^@\s]+\.[^@\s.]+$/
const ADDRESS_CHARS_MAX = 320

export const isAddress = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= ADDRESS_CHARS_MAX && ADDRESS.test(value)

export const domainOf = (address: string): string =>
  address.slice(address.lastIndexOf('@') + 1).toLowerCase()

export const typeOf = (proxy: string): string => proxy.slice(0, proxy.indexOf(':')).toLowerCase()

export const bareOf = (proxy: string): string => proxy.slice(proxy.indexOf(':') + 1)

/** A valid mail address, or any text after another type's colon. */
export const isProxy = (proxy: string): boolean =>
  typeOf(proxy) === 'smtp' ? isAddress(bareOf(proxy)) : /^[a-z0-9]+:\S/i.test(proxy)

/** Without a type it is an SMTP address. */
export const proxyOf = (text: string): string => (/^[a-z0-9]+:/i.test(text) ? text : `smtp:${text}`)

export const isSameAddress = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase()

const isPrimary = (proxy: string): boolean => proxy.startsWith('SMTP:')

export function primaryOf(proxies: readonly string[]): string | null {
  const primary = proxies.find(isPrimary)
  return primary === undefined ? null : bareOf(primary)
}

/** Adds an address or changes its rank: a new primary address demotes the old one to an alias. */
export function withAddress(proxies: readonly string[], proxy: string): string[] {
  const rest = proxies.filter((one) => !isSameAddress(one, proxy))
  const demoted = isPrimary(proxy)
    ? rest.map((one) => (isPrimary(one) ? `smtp:${bareOf(one)}` : one))
    : rest
  const existing = proxies.find((one) => isSameAddress(one, proxy))
  // Adding the primary address as an alias does not demote it.
  return existing !== undefined && !isPrimary(proxy) ? [...proxies] : [...demoted, proxy]
}

export const withoutAddress = (proxies: readonly string[], proxy: string): string[] =>
  proxies.filter((one) => !isSameAddress(one, proxy))
