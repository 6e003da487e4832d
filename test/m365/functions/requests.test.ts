// Keeps requests.http equal to what the functions send, and every call and field of it on a page of Microsoft that somebody has read.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { type CallSource, CMDLET_SOURCES, GRAPH_SOURCES } from './request-sources.ts'
import { REQUESTS_FILE, requestsText } from './requests.ts'

interface SentCall {
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

function sentCalls(text: string): SentCall[] {
  const requests = text.split(/^### .*\n/m).slice(1)
  return requests.map((request) => {
    const [head, ...rest] = request.trimEnd().split('\n\n')
    const [method, address] = head!.split('\n')[0]!.split(' ') as [string, string]
    const body: object = rest.length === 0 ? {} : (JSON.parse(rest.join('\n\n')) as object)
    const { pathname, searchParams } = new URL(address)
    if (pathname.startsWith('/adminapi/')) {
      const { CmdletName, Parameters } = (body as CmdletBody).CmdletInput
      return { call: CmdletName, isCmdlet: true, fields: Object.keys(Parameters) }
    }
    const fields = [...Object.keys(body), ...searchParams.keys()]
    return { call: `${method} ${templateOf(pathname)}`, isCmdlet: false, fields }
  })
}

describe('test/m365/functions/requests.http', () => {
  const fixture = readFileSync(REQUESTS_FILE, 'utf8')

  it('lists the requests that the functions send', async () => {
    assert.equal(fixture, await requestsText(), 'run: npm run docs')
  })

  it('has a source for every call and field, and no source is left over', () => {
    const calls = sentCalls(fixture)
    assert.ok(calls.length > 150, `${calls.length} calls`)
    const unread: string[] = []
    const read = new Set<string>()
    for (const { call, isCmdlet, fields } of calls) {
      const source: CallSource | undefined = (isCmdlet ? CMDLET_SOURCES : GRAPH_SOURCES)[call]
      if (!source) unread.push(call)
      read.add(call)
      for (const field of fields) {
        if (source && !source.fields.includes(field)) unread.push(`${call} ${field}`)
        read.add(`${call} ${field}`)
      }
    }
    assert.deepEqual([...new Set(unread)], [], 'read the page, then add it to request-sources.ts')
    const listed = [...Object.entries(GRAPH_SOURCES), ...Object.entries(CMDLET_SOURCES)]
    const unsent = listed.flatMap(([call, { fields }]) =>
      [call, ...fields.map((field) => `${call} ${field}`)].filter((one) => !read.has(one)),
    )
    assert.deepEqual(unsent, [])
  })
})
