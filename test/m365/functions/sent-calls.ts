// The calls of requests.http, named as in the tables of sources: by function, method and path without ids, or cmdlet.

export interface SentCall {
  readonly function: string
  /** As in the table of sources. */
  readonly call: string
  readonly isCmdlet: boolean
  readonly fields: readonly string[]
}

interface CmdletBody {
  readonly CmdletInput: { readonly CmdletName: string; readonly Parameters: object }
}

/** Ids and names are parameters of a path. */
const templateOf = (path: string): string =>
  path
    .replaceAll(/\/[0-9a-f]{8}-[0-9a-f-]{27}/g, '/{id}')
    .replace(/\/(users|domains)\/[^/]*(%40|@|\.example)[^/]*/, '/$1/{id}')
    .replace(/\(sourcePrincipalName=[^)]*\)/, '(sourcePrincipalName={name})')

export function sentCalls(text: string): SentCall[] {
  const requests = text.split(/^### /m).slice(1)
  return requests.map((request) => {
    const sender = request.split(' ')[0]!
    const [head, ...rest] = request
      .slice(request.indexOf('\n') + 1)
      .trimEnd()
      .split('\n\n')
    const [method, address] = head!.split('\n')[0]!.split(' ') as [string, string]
    const body: object = rest.length === 0 ? {} : (JSON.parse(rest.join('\n\n')) as object)
    const { pathname, searchParams } = new URL(address)
    if (pathname.startsWith('/adminapi/')) {
      const { CmdletName, Parameters } = (body as CmdletBody).CmdletInput
      return { function: sender, call: CmdletName, isCmdlet: true, fields: Object.keys(Parameters) }
    }
    const fields = [...Object.keys(body), ...searchParams.keys()]
    return { function: sender, call: `${method} ${templateOf(pathname)}`, isCmdlet: false, fields }
  })
}
