// Answers of others without an end: each reader stops at its limit and leaves the connection.
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import {
  AnswerTooLong,
  limitedFetch,
  readBeginning,
  readJson,
  readWhole,
} from '../../../src/base/run/read-answer.ts'
import { post } from '../../../src/engine/notify/http-post.ts'

const CHUNK = Buffer.alloc(64 * 1024, 'x')
/** What the sockets of both sides hold back. */
const BUFFERED_MAX = 16 * 1024 * 1024

let server: Server
let url: string
/** Bytes that the server could write to the last caller, and when that one had gone. */
let written: number
let gone: Promise<void>

before(async () => {
  server = createServer((_request, response) => {
    written = 0
    gone = new Promise((resolve) => response.once('close', resolve))
    response.writeHead(500, { 'content-type': 'text/html' })
    const more = () => {
      while (!response.destroyed && response.write(CHUNK)) written += CHUNK.length
      response.once('drain', more)
    }
    more()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
after(() => {
  server.closeAllConnections()
  server.close()
})

async function assertLeft(): Promise<void> {
  await gone
  assert.ok(written < BUFFERED_MAX, `${written} bytes were read`)
}

describe('an answer without an end', () => {
  it('is refused by the reader, which leaves', async () => {
    await assert.rejects(readWhole(await fetch(url), 1_000), AnswerTooLong)
    await assertLeft()
    await assert.rejects(readJson(await fetch(url), 1_000), AnswerTooLong)
    await assertLeft()
  })

  it('is known by its beginning', async () => {
    assert.equal(await readBeginning(await fetch(url), 10), 'xxxxxxxxxx')
    await assertLeft()
  })

  it('is refused in the name of a library', async () => {
    await assert.rejects(limitedFetch(1_000)(url), AnswerTooLong)
    await assertLeft()
  })

  it('of a webhook is a failed delivery with its beginning', async () => {
    const signal = new AbortController().signal
    const delivery = await post({ url, headers: {}, body: '{}', now: new Date(), signal })
    assert.equal(delivery.isDelivered, false)
    assert.match(JSON.stringify(delivery), /answered 500: x{200}"/)
    await assertLeft()
  })
})
