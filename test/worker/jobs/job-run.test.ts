// Running a job: the result for every way a function can end, parameter conversion, and secrets that stay secret.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { type Clock, virtualClock } from '../../../src/base/run/clock.ts'
import type { Json } from '../../../src/base/text/json.ts'
import { SECRET_MARK } from '../../../src/domain/runbook/template.ts'
import {
  catalogueOf,
  defineFunction,
  TOUCHES_NOTHING,
} from '../../../src/worker/functions/catalogue.ts'
import { NO_TENANT, type Tenant } from '../../../src/worker/functions/tenant.ts'
import { ApiError, type Secrets } from '../../../src/worker/http/api.ts'
import { fitParameters } from '../../../src/worker/jobs/fit-parameters.ts'
import type { Job } from '../../../src/worker/jobs/job.ts'
import { runJob } from '../../../src/worker/jobs/run-job.ts'
import { secretMissing } from '../../../src/worker/secrets/reference.ts'

const START = new Date('2026-03-01T10:00:00Z')

const VAULT: Secrets = {
  get: async (reference) => {
    if (reference !== 'matoolkit-hook') throw secretMissing(reference)
    return 'hunter2'
  },
  put: async (name) => `matoolkit-${name}`,
  find: async () => null,
}
const TENANT: Tenant = Object.create(NO_TENANT, { secrets: { value: VAULT } })

type Body = (params: Record<string, Json>, tenant: Tenant) => Promise<unknown>

async function answerOf(
  body: Body,
  { parameters = {}, isIdempotent = true, isRepeated = false } = {} as {
    parameters?: Record<string, Json>
    isIdempotent?: boolean
    isRepeated?: boolean
  },
) {
  const one = defineFunction({
    ...TOUCHES_NOTHING,
    name: 'Do-It',
    description: 'Does it.',
    parameters: z.looseObject({}),
    isIdempotent,
    run: ({ params, tenant }) => body(params as Record<string, Json>, tenant) as Promise<Json>,
  })
  const job: Job = {
    jobId: 'step-1',
    batchId: 7,
    functionName: 'do-it',
    parameters,
    timeoutSec: null,
    notAfter: null,
    isRepeated,
    correlation: { stepExecutionId: 1 },
  }
  const answer = await runJob(job, {
    workerId: 'w1',
    catalogue: catalogueOf([one]),
    clock: virtualClock(START),
    tenant: TENANT,
    stopping: new AbortController().signal,
  })
  assert.ok(answer)
  assert.deepEqual(answer.correlationData, { stepExecutionId: 1 })
  return answer
}

describe('the result of a job', () => {
  it('holds the JSON form of what the function returns', async () => {
    const odd = { when: START, none: undefined, list: [undefined] }
    assert.deepEqual((await answerOf(async () => odd)).result, {
      when: START.toISOString(),
      list: [null],
    })
    assert.equal((await answerOf(async () => undefined)).result, null)
  })

  it('is a failure when the return value is not JSON', async () => {
    const cycle: Record<string, unknown> = {}
    cycle.self = cycle
    for (const result of [cycle, { big: 1n }]) {
      const { status, error } = await answerOf(async () => result)
      assert.deepEqual([status, error?.type], ['Failure', 'UnusableResult'])
      assert.match(error!.message, /^Do-It ran, but its result is not JSON/)
    }
  })

  it('carries the details of a failed call', async () => {
    const { error } = await answerOf(async () => {
      throw new ApiError({
        status: 429,
        code: 'TooManyRequests',
        message: 'Microsoft Graph returned 429 (request id a-1)',
        isThrottled: true,
        attempts: 5,
      })
    })
    assert.deepEqual(error, {
      message: 'Microsoft Graph returned 429 (request id a-1)',
      type: 'TooManyRequests',
      isThrottled: true,
      attempts: 5,
      effect: 'possible',
      isFinal: false,
    })
  })

  it('says that nothing was called when a secret cannot be read, and may be retried', async () => {
    const parameters = { Password: { [SECRET_MARK]: [{ ref: 'gone' }] } }
    const { error } = await answerOf(async () => assert.fail('the function ran'), { parameters })
    assert.deepEqual([error?.effect, error?.isFinal], ['none', false])
  })

  it('does not claim that nothing was called when an earlier delivery may have called something', async () => {
    const parameters = { Password: { [SECRET_MARK]: [{ ref: 'gone' }] } }
    const { error } = await answerOf(async () => null, { parameters, isRepeated: true })
    assert.equal(error?.effect, 'possible')
  })

  /** The answer after `afterMs` to a job that waits for a minute of its clock, or forever. */
  async function answerAfter(
    afterMs: number,
    job: Partial<Job>,
    run: (call: { clock: Clock }) => Promise<Json>,
  ) {
    const clock = virtualClock(START)
    const one = { name: 'Do-It', description: 'Wait.', parameters: z.looseObject({}) }
    const catalogue = catalogueOf([defineFunction({ ...TOUCHES_NOTHING, ...one, run })])
    const running = runJob(
      {
        jobId: 'step-1',
        batchId: 7,
        functionName: 'Do-It',
        parameters: {},
        timeoutSec: 30,
        notAfter: new Date(+START + 3_600_000),
        correlation: null,
        isRepeated: false,
        ...job,
      },
      {
        workerId: 'w1',
        catalogue,
        clock,
        tenant: TENANT,
        stopping: new AbortController().signal,
      },
    )
    await clock.advance(afterMs)
    return Promise.race([running, Promise.resolve('still running' as const)])
  }
  const waitsOnTheClock = async ({ clock }: { clock: Clock }) => {
    await clock.wait(60_000)
    return 'waited'
  }
  const never = () => new Promise<Json>(() => {})
  const timeoutIn = (answer: Awaited<ReturnType<typeof answerAfter>>) => {
    assert.ok(typeof answer === 'object' && answer !== null, String(answer))
    assert.deepEqual([answer.status, answer.error?.type], ['Failure', 'TimedOut'])
    assert.deepEqual([answer.error?.effect, answer.error?.isFinal], ['possible', false])
    return answer.error!.message
  }

  it('is TimedOut while its function waits on the clock and ignores the signal', async () => {
    assert.equal(await answerAfter(29_000, {}, waitsOnTheClock), 'still running')
    assert.equal(
      timeoutIn(await answerAfter(30_000, {}, waitsOnTheClock)),
      'stopped after its timeout of 30s',
    )
  })

  it('is TimedOut a minute later when the function never stops: it keeps neither slot nor step', async () => {
    assert.equal(await answerAfter(89_000, {}, never), 'still running')
    assert.equal(
      timeoutIn(await answerAfter(90_000, {}, never)),
      'stopped after its timeout of 30s, but it did not stop and may still run',
    )
  })

  it('is TimedOut at the limit of a sender that gives no timeout', async () => {
    const foreign = { timeoutSec: null, notAfter: new Date(+START + 20_000) }
    assert.match(timeoutIn(await answerAfter(20_000, foreign, waitsOnTheClock)), /timeout of 20s/)
  })

  it('is OutcomeUnknown for a redelivered job that must not run twice', async () => {
    let runs = 0
    const run = async () => ++runs
    const { error } = await answerOf(run, { isRepeated: true, isIdempotent: false })
    assert.deepEqual([error?.type, runs], ['OutcomeUnknown', 0])
    assert.match(error!.message, /Check in the tenant what was done/)
    await answerOf(run, { isRepeated: true })
    await answerOf(run, { isIdempotent: false })
    assert.equal(runs, 2)
  })
})

describe('secrets of a job', () => {
  const marked = { Text: { $secret: ['Bearer ', { ref: 'matoolkit-hook' }] }, Data: '{{secret:x}}' }

  it('are resolved where the runbook wrote them and nowhere else', async () => {
    let got: Record<string, Json> = {}
    const { status } = await answerOf(
      async (params) => {
        got = params
      },
      { parameters: marked },
    )
    assert.equal(status, 'Success')
    assert.deepEqual(got, { Text: 'Bearer hunter2', Data: '{{secret:x}}' })
  })

  it('never leave with the result, neither read nor created ones', async () => {
    const told = await answerOf(
      async (params, { secrets }) => {
        const made = 'Xy9"made & now'
        const reference = await secrets.put('made', made)
        const said = [
          `${params.Text} and ${made}`,
          JSON.stringify({ made }),
          encodeURIComponent(made),
        ]
        return { reference, said, [made]: 1 }
      },
      { parameters: marked },
    )
    assert.deepEqual(told.result, {
      reference: 'matoolkit-made',
      said: [
        'Bearer [secret matoolkit-hook] and [secret made]',
        '{"made":"[secret made]"}',
        '[secret made]',
      ],
      '[secret made]': 1,
    })
    const { error } = await answerOf(
      async ({ Text }) => {
        throw new Error(`${Text} is too weak`)
      },
      { parameters: marked },
    )
    assert.equal(error?.message, 'Bearer [secret matoolkit-hook] is too weak')
  })

  const KEPT = 'Pass"w0rd+<ä>/1'
  const B64 = (text: string) => Buffer.from(text).toString('base64')
  const FORMS: Record<string, string> = {
    plain: KEPT,
    'JSON-escaped': JSON.stringify({ KEPT }),
    'JSON in JSON': JSON.stringify(JSON.stringify({ KEPT })),
    'JSON in ASCII': 'Pass\\"w0rd\\u002B\\u003C\\u00E4\\u003E/1',
    'URL-encoded': encodeURIComponent(KEPT),
    'URL-encoded in lower case': 'Pass%22w0rd%2b%3c%c3%a4%3e%2f1',
    'a form': new URLSearchParams({ KEPT }).toString(),
    'XML-escaped': 'Pass"w0rd+&lt;ä&gt;/1',
    'HTML-escaped': 'Pass&quot;w0rd+&lt;ä&gt;/1',
    'quoted twice': 'Pass""w0rd+<ä>/1',
    base64: B64(KEPT),
    'base64 after one byte': B64(`a${KEPT}`),
    'base64 within a pair': B64(`me:${KEPT}:more`),
    base64url: Buffer.from(`sa:${KEPT}`).toString('base64url'),
    'base64 of UTF-16': Buffer.from(KEPT, 'utf16le').toString('base64'),
    hex: Buffer.from(KEPT).toString('hex').toUpperCase(),
  }
  for (const [form, text] of Object.entries(FORMS)) {
    it(`stay hidden in a result and an error, ${form}`, async () => {
      const keep: Body = async (_, { secrets }) => secrets.put('kept', KEPT)
      const { result } = await answerOf(async (params, tenant) => {
        await keep(params, tenant)
        return { said: `it was ${text}.` }
      })
      assert.match(
        String((result as { said: string }).said),
        /^it was .{0,13}\[secret kept\].{0,8}\.$/,
      )
      const { error } = await answerOf(async (params, tenant) => {
        await keep(params, tenant)
        throw Object.assign(new Error(`refused ${text}`), { name: text })
      })
      assert.match(error!.message, /^refused .{0,13}\[secret kept\].{0,7}$/)
      assert.match(error!.type, /^.{0,13}\[secret kept\].{0,7}$/)
    })
  }

  it('stay hidden whatever overlaps, is cut, is a number or is one line of several', async () => {
    const PEM = '-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END KEY-----'
    const { result, error } = await answerOf(async (_, { secrets }) => {
      for (const [name, value] of Object.entries({ short: 'abcd', long: 'bcdefghij', pin: '4711' }))
        await secrets.put(name, value)
      await secrets.put('inner', 'cdef')
      await secrets.put('pem', PEM)
      return ['abcdefghij', 'xbcdefghijx', 'abcd', 14711, 'line hkiG9w0BAQEFAASC is bad']
    })
    assert.equal(error, null)
    assert.deepEqual(result, [
      '[secret long]',
      'x[secret long]x',
      '[secret short]',
      '1[secret pin]',
      'line [secret pem] is bad',
    ])
    const cut = await answerOf(
      async ({ Text }) => {
        throw new Error(`${'x'.repeat(1_996 - 'Bearer '.length)}${Text}`)
      },
      { parameters: marked },
    )
    assert.equal(cut.error!.message.length, 2_000)
    assert.doesNotMatch(cut.error!.message, /hunt/)
  })

  it('fail the job when missing', async () => {
    const parameters = { Text: { $secret: [{ ref: 'matoolkit-gone' }] } }
    const { error } = await answerOf(async () => true, { parameters })
    assert.equal(error?.type, 'SecretNotFound')
    assert.match(error!.message, /The worker's vault has no secret "matoolkit-gone"/)
  })
})

describe('fitting parameters', () => {
  const one = defineFunction({
    ...TOUCHES_NOTHING,
    name: 'Take',
    description: '',
    parameters: z.strictObject({
      Flag: z.boolean().optional(),
      Count: z.int().optional(),
      Share: z.number().optional(),
      Text: z.string().optional(),
      List: z.array(z.string()).optional(),
      Kind: z.enum(['Guest', 'Member']).optional(),
      Maybe: z.union([z.boolean(), z.null(), z.literal('')]).optional(),
      Inner: z.strictObject({ Flag: z.boolean() }).optional(),
      Needed: z.string().default('x'),
    }),
    run: async () => null,
  })
  const FITS: [given: Record<string, Json>, params: Record<string, Json>][] = [
    [{ Flag: 'true' }, { Flag: true }],
    [{ flag: 'FALSE' }, { Flag: false }],
    [{ Count: '5' }, { Count: 5 }],
    [{ Share: '-0.5' }, { Share: -0.5 }],
    [{ Text: 5 }, { Text: '5' }],
    [{ Text: true }, { Text: 'true' }],
    [{ Text: 'true' }, { Text: 'true' }],
    [{ List: 'one' }, { List: ['one'] }],
    [{ List: [1, 'two'] }, { List: ['1', 'two'] }],
    [{ Kind: 'guest' }, { Kind: 'Guest' }],
    [{ Maybe: 'true' }, { Maybe: true }],
    [{ Maybe: '' }, { Maybe: '' }],
    [{ Maybe: null }, { Maybe: null }],
    [{ Inner: { Flag: 'true' } }, { Inner: { Flag: true } }],
    [{ Text: null, Flag: null }, {}],
  ]
  for (const [given, params] of FITS) {
    it(`accepts ${JSON.stringify(given)}`, () => {
      assert.deepEqual(fitParameters(one, given), { params: { Needed: 'x', ...params } })
    })
  }
  const MISFITS: [given: Record<string, Json>, says: RegExp][] = [
    [{ Flag: 'yes' }, /^Flag: .*expected boolean/],
    [{ Flag: 1 }, /^Flag: .*expected boolean/],
    [{ Count: '5 apples' }, /^Count: /],
    [{ Count: '5.5' }, /^Count: /],
    [{ Count: '1e3' }, /^Count: /],
    [{ Count: '' }, /^Count: /],
    [{ Count: '99999999999999999999' }, /^Count: /],
    [{ Text: { a: 1 } }, /^Text: .*expected string/],
    [{ Kind: 'Owner' }, /^Kind: /],
    [{ Txet: 'hunter2' }, /^Txet: unknown, did you mean Text\?$/],
    [{ Text: 'a', text: 'b' }, /^Text: given twice$/],
  ]
  for (const [given, says] of MISFITS) {
    it(`refuses ${JSON.stringify(given)}`, () => {
      const fitted = fitParameters(one, given)
      assert.ok('misfits' in fitted, JSON.stringify(fitted))
      assert.match(fitted.misfits, says)
      assert.doesNotMatch(fitted.misfits, /hunter2/)
    })
  }
})
