// The live stream on the wire: its format, resuming, the limit of listeners, and its end when the server stops.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { people } from '../../stories/world.ts'
import { type ApiUnderTest, openApiUnderTest, SEEN } from '../under-test.ts'
import { covers } from './covers.ts'
import { plain } from './fixtures.ts'

describe('live events', () => {
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest({ options: { listenersMax: 1 } })
    await api.world.publish(plain())
    await api.world.batch('plain', people(1), { startsInMin: 60 })
  })
  after(() => api.close())

  const listen = async (query: string, headers: Record<string, string> = {}) => {
    const gone = new AbortController()
    const response = await fetch(`${api.url}/api/events${query}`, {
      headers: { authorization: `Bearer ${api.token}`, ...headers },
      signal: gone.signal,
    })
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    const until = async (pattern: RegExp) => {
      while (!pattern.test(text)) {
        const { value, done } = await reader.read()
        if (done) break
        text += value
      }
      return text
    }
    SEEN.set('listenEvents', (SEEN.get('listenEvents') ?? new Set()).add(String(response.status)))
    return { response, until, leave: () => gone.abort() }
  }

  it('carry ids, resume where the listener stopped, and limit the listeners', async () => {
    const { response, until, leave } = await listen('?entity=batch,runbook', {
      'last-event-id': '0',
    })
    assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
    assert.equal(response.headers.get('cache-control'), 'no-store')
    const text = await until(/"created"/)
    assert.match(text, /^retry: 2000\n\nid: \d+\ndata: \{"id":\d+,"at":"2026-03-02T08:00:00.000Z"/)
    await api.refused(503, 'LISTENERS_FULL', 'GET', '/api/events?after=1&batchId=1&memberId=1')
    leave()
  })

  it('start from the beginning with after=0', async () => {
    const { response, until, leave } = await listen('?after=0&entity=batch,runbook')
    assert.equal(response.status, 200)
    assert.match(await until(/"created"/), /^retry: 2000\n\nid: \d+\ndata: .*"published"/)
    leave()
  })

  it("refuse an id that is not an event's", async () => {
    await api.refused(400, 'REQUEST_INVALID', 'GET', '/api/events?after=x')
    await api.refused(400, 'REQUEST_INVALID', 'GET', '/api/events', {
      headers: { 'last-event-id': '1e9' },
    })
    await api.refused(401, 'NOT_SIGNED_IN', 'GET', '/api/events', { token: null })
  })
})

it('serve 20 listeners of one caller, and a stopping server ends their streams without waiting', async () => {
  const api = await openApiUnderTest()
  await api.world.publish(plain())
  const headers = { authorization: `Bearer ${api.token}`, 'last-event-id': '0' }
  const streams = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const response = await fetch(`${api.url}/api/events`, { headers })
      assert.equal(response.status, 200)
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
      let text = ''
      while (!text.includes('"published"')) text += (await reader.read()).value
      return reader
    }),
  )
  await api.refused(429, 'LISTENERS_OF_PERSON_FULL', 'GET', '/api/events')
  await api.close()
  for (const reader of streams) assert.equal((await reader.read()).done, true)
})

covers('listenEvents')
