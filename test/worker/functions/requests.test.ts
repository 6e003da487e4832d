// Keeps requests.md equal to what the functions send.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { REQUESTS_FILE, requestsText } from './requests.ts'

describe('test/worker/functions/requests.md', () => {
  it('lists the requests that the functions send', async () => {
    const hint = 'run: npm run docs'
    assert.equal(readFileSync(REQUESTS_FILE, 'utf8'), await requestsText(), hint)
  })
})
