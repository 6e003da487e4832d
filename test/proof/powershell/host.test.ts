// The worker's host script in a real PowerShell: what functions get, give, break, and how they end.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { realClock } from '../../../src/base/run/clock.ts'
import type { Json, JsonObject } from '../../../src/base/text/json.ts'
import {
  type Discovered,
  discoverFunctions,
} from '../../../src/worker/functions/custom-functions.ts'
import { NO_TENANT } from '../../../src/worker/functions/tenant.ts'
import { fitParameters } from '../../../src/worker/jobs/fit-parameters.ts'
import { NO_PWSH, pwshVersion } from './pwsh.ts'

const clock = realClock()
const CALLS = 1_500
const WARM_UP_CALLS = 500
/** A leak of 20 kB a call would be 40 MB. */
const GROWTH_KB_MAX = 40_000
const HANG_MS = 1_000

describe('the PowerShell host', { timeout: 150_000 }, () => {
  let found: Discovered | null = null
  before(async () => {
    if ((await pwshVersion()) === null) return
    const folder = join(import.meta.dirname, 'modules')
    const powerShell = { program: 'pwsh', cloud: 'public' as const }
    found = await discoverFunctions({ folder, standard: [], clock, powerShell })
    assert.deepEqual(found.problems, [])
  })
  after(() => found?.close())

  const call = (name: string, given: JsonObject = {}, signal = new AbortController().signal) => {
    const definition = found!.functions.find((each) => each.name === name)!
    const fit = fitParameters(definition, given)
    assert.ok('params' in fit, JSON.stringify(fit))
    const { params } = fit as { params: Json }
    return definition.run({ params, tenant: NO_TENANT, signal, jobId: 'step-1', clock })
  }
  const judged = (name: string, tell: () => Promise<void>) =>
    it(name, async (test: TestContext) => (found ? tell() : test.skip(NO_PWSH)))

  judged(
    'gives each parameter its declared type, and texts that look like dates stay texts',
    async () => {
      const given = {
        text: '2026-03-02T08:00:00Z',
        whole: 7,
        long: Number.MAX_SAFE_INTEGER,
        broken: '1.5',
        exact: 0.1,
        is: 'true',
        flag: true,
        id: '5d6c1f7e-2f0a-4a55-9a37-6a1f0c1f7b52',
        at: '2026-03-02T08:00:00Z',
        instant: '2026-03-02T08:00:00+02:00',
        address: 'https://contoso.example/x?y=1',
        secret: 'pässword',
        texts: ['a', 'Zoë 李 😀'],
        wholes: [1],
        colour: 'green',
        day: 'Friday',
        table: { a: 1, b: 'x' },
        span: '01:00:00',
      }
      assert.deepEqual(await call('Get-Received', given), {
        Text: 'String 2026-03-02T08:00:00Z',
        Whole: 'Int32 7',
        Long: 'Int64 9007199254740991',
        Broken: 'Double 1.5',
        Exact: 'Decimal 0.1',
        Is: 'Boolean True',
        Flag: 'SwitchParameter True',
        Id: 'Guid 5d6c1f7e-2f0a-4a55-9a37-6a1f0c1f7b52',
        At: 'DateTime 2026-03-02T08:00:00.0000000Z',
        Instant: 'DateTimeOffset 2026-03-02T08:00:00.0000000+02:00',
        Address: 'Uri https://contoso.example/x?y=1',
        Secret: 'SecureString 8 characters',
        Texts: 'String[] a|Zoë 李 😀',
        Wholes: 'Int32[] 1',
        Colour: 'String Green',
        Day: 'DayOfWeek Friday',
        Table: 'Hashtable a=1|b=x',
        Span: 'TimeSpan 01:00:00',
      })
      assert.deepEqual(await call('Get-Received', { texts: [], anything: ['one'] }), {
        Texts: 'String[] ',
        Anything: 'Object[] one',
      })
      await assert.rejects(call('Get-Received', { day: 'Someday' }), /Someday/)
    },
  )

  judged('returns values as JSON has them', async () => {
    const results: Record<string, Json> = {
      nothing: true,
      null: null,
      text: 'Zoë 李 😀 "quoted" \\ back\u2028',
      date: '2026-03-02T08:30:00Z',
      enum: 'Friday',
      list: [1, 2, 3],
      pipeline: { Sum: 166_650, Count: 50 },
      object: { Name: 'Ada', Empty: null, Inner: { List: ['a'] }, Is: true },
      bytes: { Bytes: [1, 2, 255] },
      secret: { Secret: { Length: 4 } },
    }
    for (const [Kind, result] of Object.entries(results))
      assert.deepEqual(await call('Get-Results', { Kind }), result, Kind)
    assert.equal(await call('Get-Results', { Kind: 'large' }), 'ü'.repeat(3 * 1024 * 1024))
    assert.match(JSON.stringify(await call('Get-Results', { Kind: 'circle' })), /Hashtable/)
  })

  judged('is not disturbed by what a function writes to any stream', async () => {
    assert.equal(await call('Write-EveryStream'), 'quiet')
  })

  judged('counts every error as thrown, unless the function handles it', async () => {
    const failures: Record<string, RegExp> = {
      throw: /^RuntimeException: plainly thrown$/,
      exception: /^FileNotFoundException: not there$/,
      'Write-Error': /^WriteErrorException: only written$/,
      cmdlet: /^ItemNotFoundException: /,
      method: /^MethodInvocationException: .*"Parse"/,
      division: /^RuntimeException: /,
      unknown: /^CommandNotFoundException: .*Get-NoSuchCommand/s,
      prompt: /^PSInvalidOperationException: .*NonInteractive/,
      nested: /^RuntimeException: item 2$/,
      unicode: /^RuntimeException: Größe 李 😀$/,
    }
    for (const [Kind, expected] of Object.entries(failures))
      await assert.rejects(
        call('Invoke-Failure', { Kind }),
        ({ name, message }: Error) => expected.test(`${name}: ${message}`),
        Kind,
      )
    assert.equal(await call('Invoke-Failure', { Kind: 'handled' }), 'handled')
    assert.equal(await call('Invoke-Failure', { Kind: 'silenced' }), 'went on')
    assert.equal(await call('Invoke-Failure', { Kind: 'program' }), 'code 7')
  })

  judged(
    'fails a function that leaves a loop which it does not have, at once, and answers the next call',
    async () => {
      const pid = await call('Get-ProcessId')
      await assert.rejects(call('Skip-Badly'), /Skip-Badly left by break or continue/)
      await assert.rejects(call('Exit-Loop'), /Exit-Loop left by break or continue/)
      assert.equal(await call('Get-ProcessId'), pid)
    },
  )

  judged(
    'gives each call the same preferences and folder, whatever the last one changed',
    async () => {
      const first = await call('Get-Preference')
      assert.equal(await call('Stop-Host', { Kind: 'global' }), 'changed')
      assert.deepEqual(await call('Get-Preference'), first)
      await assert.rejects(call('Invoke-Failure', { Kind: 'cmdlet' }))
    },
  )

  judged('outlives functions that end, crash, hang and start programs', async () => {
    const ends: Record<string, RegExp> = {
      exit: /ended with code 3\.$/,
      environment: /ended with code 4\.$/,
      'fail-fast': /ended by SIGABRT\. It said: Process terminated\.\s+gone/,
      kill: /ended by SIGKILL\.$/,
    }
    for (const [Kind, reason] of Object.entries(ends))
      await assert.rejects(call('Stop-Host', { Kind }), reason, Kind)
    for (const Kind of ['hang', 'busy', 'child']) {
      const deadline = AbortSignal.timeout(HANG_MS)
      await assert.rejects(call('Stop-Host', { Kind }, deadline), { name: 'TimeoutError' }, Kind)
    }
    assert.equal(await call('Get-Square', { Of: 12 }), 144)
  })

  judged('runs as many processes as there are calls at the same time', async () => {
    const pids = await Promise.all([call('Get-ProcessId'), call('Get-ProcessId')])
    assert.notEqual(pids[0], pids[1])
  })

  it('serves thousands of calls without growing', async (test) => {
    if (!found) return test.skip(NO_PWSH)
    let sum = 0
    const serve = async (calls: number) => {
      for (let n = 0; n < calls; n++) sum += Number(await call('Get-Square', { Of: 3 }))
    }
    const pid = await call('Get-ProcessId')
    await serve(WARM_UP_CALLS)
    const before = await memoryKb(pid)
    const start = performance.now()
    await serve(CALLS)
    const seconds = (performance.now() - start) / 1_000
    const grown = (await memoryKb(pid)) - before
    test.diagnostic(
      `${Math.round(CALLS / seconds)} calls a second in one process of ${Math.round(before / 1_024)} MB, which grew by ${grown} kB in ${CALLS} calls`,
    )
    assert.equal(sum, 9 * (WARM_UP_CALLS + CALLS))
    assert.equal(await call('Get-ProcessId'), pid)
    assert.ok(grown < GROWTH_KB_MAX, `grew by ${grown} kB`)
  })
})

async function memoryKb(pid: Json): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)![1])
}
