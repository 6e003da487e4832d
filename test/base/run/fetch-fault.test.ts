// Why a request got no answer: one sentence for one fault, wherever a request is sent.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fetchFault } from '../../../src/base/run/fetch-fault.ts'

const failed = (cause: unknown) => new TypeError('fetch failed', { cause })
const coded = (code: string, message = '') => Object.assign(new Error(message), { code })

const FAULTS: readonly [string, unknown, string][] = [
  ['a refused connection', failed(coded('ECONNREFUSED')), 'connection refused'],
  ['a name that nobody has', failed(coded('ENOTFOUND')), 'unknown host'],
  [
    'a server without TLS',
    failed(coded('ERR_SSL_WRONG_VERSION_NUMBER', 'C:\\ssl3.c')),
    'the server does not use TLS; try http',
  ],
  ['a time limit', new DOMException('', 'TimeoutError'), 'the request timed out'],
  [
    'several addresses of which none answers',
    failed(new AggregateError([new Error('connect EHOSTUNREACH 10.0.0.1:443')], '')),
    'connect EHOSTUNREACH 10.0.0.1:443',
  ],
  [
    'a fault that has no words of its own',
    failed(coded('X', 'read ECONNRESET')),
    'read ECONNRESET',
  ],
  ['an error that is no answer of fetch', new Error('bad port'), 'bad port'],
]

describe('the reason of a request without an answer', () => {
  for (const [what, error, said] of FAULTS)
    it(`names ${what}`, () => {
      assert.equal(fetchFault(error), said)
    })
})
