// Keeps requests.http equal to what the functions send, and every call and field of it on a page of Microsoft that somebody has read.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { type CallSource, CMDLET_SOURCES, GRAPH_SOURCES } from './request-sources.ts'
import { REQUESTS_FILE, requestsText } from './requests.ts'
import { sentCalls } from './sent-calls.ts'

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
