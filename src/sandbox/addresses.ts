// The addresses of one object, such as "SMTP:ada@contoso.example": the type in capitals marks the primary one of its type.
// Compared without case, kept as written.

const ADDRESS = /^[^@\s:]+@[^@\s]+\.[^@\s.]+$/
const ADDRESS_CHARS_MAX = 320

export const isAddress = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= ADDRESS_CHARS_MAX && ADDRESS.test(value)

export const domainOf = (address: string): string =>
  address.slice(address.lastIndexOf('@') + 1).toLowerCase()

export const typeOf = (proxy: string): string => proxy.slice(0, proxy.indexOf(':')).toLowerCase()

export const bareOf = (proxy: string): string => proxy.slice(proxy.indexOf(':') + 1)

/** A mail address in it, or at least something after the colon of another type. */
export const isProxy = (proxy: string): boolean =>
  typeOf(proxy) === 'smtp' ? isAddress(bareOf(proxy)) : /^[a-z0-9]+:\S/i.test(proxy)

/** Something without a type is an SMTP address. */
export const proxyOf = (text: string): string => (/^[a-z0-9]+:/i.test(text) ? text : `smtp:${text}`)

export const isSameAddress = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase()

const isPrimary = (proxy: string): boolean => proxy.startsWith('SMTP:')

export function primaryOf(proxies: readonly string[]): string | null {
  const primary = proxies.find(isPrimary)
  return primary === undefined ? null : bareOf(primary)
}

/** Adds it, or changes its rank: a new primary address makes the old one an alias. */
export function withAddress(proxies: readonly string[], proxy: string): string[] {
  const rest = proxies.filter((one) => !isSameAddress(one, proxy))
  const demoted = isPrimary(proxy)
    ? rest.map((one) => (isPrimary(one) ? `smtp:${bareOf(one)}` : one))
    : rest
  const stays = proxies.find((one) => isSameAddress(one, proxy))
  // Adding an alias that is the primary address already takes nothing from it.
  return stays !== undefined && !isPrimary(proxy) ? [...proxies] : [...demoted, proxy]
}

export const withoutAddress = (proxies: readonly string[], proxy: string): string[] =>
  proxies.filter((one) => !isSameAddress(one, proxy))
