// Addresses of requests: the path with its parameters filled in, and the query.

export interface AddressParts {
  readonly params?: Readonly<Record<string, unknown>> | undefined
  readonly query?: Readonly<Record<string, unknown>> | undefined
}

/** Lists travel as `a,b`; what is undefined or null is left out. */
export function pathAndQuery(path: string, { params = {}, query = {} }: AddressParts): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(params[name])),
  )
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) search.set(name, String(value))
  }
  const text = search.toString()
  return text === '' ? filled : `${filled}?${text}`
}
