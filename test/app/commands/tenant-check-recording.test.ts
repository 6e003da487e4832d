// `matoolkit doctor tenant --record` and `matoolkit sandbox --replay`: the recording names nobody, the check changes nothing, and a sandbox
// that replays it answers like the recorded tenant. All functions cope with that.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { type RecordedTenant, recordingIn } from '../../../sandbox/replay.ts'
import { DEFAULT_SECRET } from '../../../sandbox/state.ts'
import { addSandboxCommands } from '../../../src/app/commands/sandbox.ts'
import { runTenantCheck, type TenantCheckFlags } from '../../../src/app/commands/tenant-check.ts'
import { startSandbox } from '../../../src/app/sandbox/sandbox.ts'
import { EXIT } from '../../../src/base/errors/errors.ts'
import type { Json, JsonObject } from '../../../src/base/text/json.ts'
import { run } from '../../../src/cli/program/program.ts'
import { probesOf } from '../../../src/m365/check/probes.ts'
import { STANDARD_FUNCTIONS } from '../../../src/m365/functions/standard.ts'
import { ApiError } from '../../../src/worker/http/api.ts'
import { WIDE } from '../../cli/against-api.ts'
import { recordingIo } from '../../cli/recording-io.ts'
import { caseOf } from '../../m365/functions/cases.ts'
import { configFor, type Dialect, type Setting, within } from '../../m365/functions/setting.ts'
import { NOBODY } from '../../m365/functions/tenants.ts'

const folder = mkdtempSync(join(tmpdir(), 'matoolkit-recording-'))
after(() => rmSync(folder, { recursive: true }))
let files = 0
const newFile = () => join(folder, `recording-${++files}.json`)

const PERSON = 'box@contoso.example'

/** Records the first tenant of a sandbox. */
async function recordFrom(
  { sandbox }: Setting,
  flags: TenantCheckFlags,
): Promise<{ out: string; text: string }> {
  const io = recordingIo({ width: WIDE })
  const env = { MATOOLKIT_SIGN_IN: 'secret', MATOOLKIT_APP_SECRET: DEFAULT_SECRET }
  const config = configFor(sandbox.url, sandbox.state().tenants[0]!.id, env)
  await runTenantCheck({ output: 'table', ...flags }, io, config)
  assert.deepEqual(sandbox.journal.effects, [], 'it only reads')
  return { out: io.outText(), text: readFileSync(flags.record!, 'utf8') }
}

const recordedAs = (dialect: Dialect): Promise<RecordedTenant> =>
  within({ dialect }, async (setting) => {
    const { text } = await recordFrom(setting, {
      target: true,
      record: newFile(),
      testPerson: PERSON,
      runbook: join(import.meta.dirname, '../../../examples/full-migration.yaml'),
    })
    return recordingIn(text)
  })

/** The status and the words of "not found" for a recipient that nobody has. */
async function notFoundIn({ tenant }: Setting, name = 'nobody@contoso.example') {
  const { signal } = new AbortController()
  const error = await tenant.exchange
    .run('Get-Recipient', { Identity: name }, { signal })
    .catch((caught: unknown) => caught)
  assert.ok(error instanceof ApiError)
  return { status: error.status, code: error.code, isMissing: error.isMissing, text: error.message }
}

describe('matoolkit doctor tenant --record', () => {
  it('asks only by reading', () => {
    const plan = { side: null, endpoints: ['fabrikam'], organization: 'x.example', person: PERSON }
    for (const { cmdlet, graph } of probesOf(plan))
      assert.ok(graph !== undefined || /^(?:Get|Test)-/.test(cmdlet!.name), cmdlet?.name)
  })

  it('writes what the tenant answered for its owner alone, and names nobody', () =>
    within({}, async (setting) => {
      const file = newFile()
      const flags = { target: true as const, record: file, testPerson: PERSON }
      const { out, text } = await recordFrom(setting, flags)
      assert.match(out, /Recorded \d+ answers, about box@contoso\.example, in /)
      assert.match(out, /It only read; the tenant is unchanged\./)
      assert.equal(statSync(file).mode & 0o777, 0o600)
      const { tenants } = setting.sandbox.state()
      const named = tenants.flatMap(({ id, domains, users, groups, applications }) => [
        id,
        ...domains,
        applications[0]!.secret!,
        applications[0]!.clientId,
        ...users.flatMap((user) => [user.id, user.userPrincipalName, user.displayName]),
        ...users.flatMap((user) => user.proxyAddresses),
        ...groups.flatMap((group) => [group.id, group.displayName]),
      ])
      const left = named.filter((name) => text.toLowerCase().includes(name.toLowerCase()))
      // A word of ordinary sentences, too.
      assert.deepEqual(
        left.filter((name) => name.length > 5),
        [],
      )
      assert.doesNotMatch(text, /eyJ|bearer/i)
      const { answers } = recordingIn(text)
      const calls = answers.map(({ request }) => request.cmdlet ?? request.path)
      for (const call of [
        'Get-Recipient',
        'Get-MailboxAutoReplyConfiguration',
        '/v1.0/users/{user}',
      ])
        assert.ok(calls.includes(call), call)
    }))

  it('gives the same person the same pseudonym in every answer, and reads about nobody unless told', () =>
    within({}, async (setting) => {
      const alone = await recordFrom(setting, { target: true, record: newFile() })
      assert.match(alone.out, /about nobody in particular/)
      assert.doesNotMatch(alone.text, /Get-MailboxStatistics|licenseDetails/)
      const { text } = await recordFrom(setting, { record: newFile(), testPerson: PERSON })
      const { answers } = recordingIn(text)
      const guids = answers
        .filter(
          ({ request, outcome }) =>
            outcome === 'found' && /^Get-(?:Recipient|Mailbox)$/.test(request.cmdlet ?? ''),
        )
        .map(({ response }) => ((response.body as JsonObject).value as JsonObject[])[0]!.Guid)
      assert.equal(guids.length, 2)
      assert.equal(guids[0], guids[1])
      assert.match(String(guids[0]), /^ffffffff-/)
    }))

  it('replaces no file unasked and follows no link, before it asks the tenant anything', () =>
    within({}, async (setting) => {
      const file = newFile()
      writeFileSync(file, 'mine')
      const before = setting.sandbox.journal.requestsMade
      await assert.rejects(recordFrom(setting, { record: file }), { code: 'FILE_EXISTS' })
      const link = newFile()
      symlinkSync(file, link)
      const forced = recordFrom(setting, { record: link, force: true })
      await assert.rejects(forced, { code: 'FILE_UNWRITABLE' })
      assert.equal(setting.sandbox.journal.requestsMade, before)
      assert.equal(readFileSync(file, 'utf8'), 'mine')
      const alone = runTenantCheck(
        { testPerson: PERSON },
        recordingIo({ width: WIDE }),
        configFor('http://127.0.0.1:9', NOBODY),
      )
      await assert.rejects(alone, /--test-person belongs to --record/)
    }))
})

describe('matoolkit sandbox --replay', () => {
  it('says "not found" as the recorded tenant does, about the object that was asked for', async () => {
    for (const notFound of ['400', '500', 'text'] as const) {
      const theirs = await within({ dialect: { notFound } }, notFoundIn)
      const replay = await recordedAs({ notFound })
      const ours = await within({ replay }, notFoundIn)
      assert.deepEqual([ours.status, ours.code, ours.isMissing], [theirs.status, theirs.code, true])
      assert.match(ours.text, /'nobody@contoso\.example'.*'contoso\.onmicrosoft\.com'/)
      const { signal } = new AbortController()
      const batch = within({ replay }, ({ tenant }) =>
        tenant.exchange.run('Get-MigrationBatch', { Identity: 'nothing' }, { signal }),
      )
      await assert.rejects(batch, { isMissing: true })
    }
  })

  it('has the properties of the recorded tenant, in its forms', async () => {
    const recorded = await recordedAs({})
    const answers = recorded.answers.map((one) =>
      one.request.cmdlet === 'Get-Recipient' && one.outcome === 'found'
        ? {
            ...one,
            response: {
              ...one.response,
              body: { value: [{ Identity: 'a', EmailAddresses: 'one, two', Guid: 'g' }] },
            },
          }
        : one,
    )
    const [found] = await within({ replay: { ...recorded, answers } }, ({ tenant }) =>
      tenant.exchange.run(
        'Get-Recipient',
        { Identity: PERSON },
        { signal: new AbortController().signal },
      ),
    )
    assert.deepEqual(Object.keys(found!), ['Identity', 'Guid', 'EmailAddresses'])
    assert.equal(found!.EmailAddresses, `SMTP:${PERSON}`)
  })

  it('refuses a test that the recorded tenant refused', async () => {
    const recorded = await recordedAs({})
    const body: Json = {
      error: { message: 'x|y.ParameterBindingException|TestMailbox is needed.' },
    }
    const refused = {
      settles: '',
      outcome: 'refused' as const,
      request: {
        method: 'POST',
        path: '/',
        cmdlet: 'Test-MigrationServerAvailability',
        parameters: ['Endpoint'],
      },
      response: { status: 400, headers: {}, body },
    }
    const replay = { ...recorded, answers: [refused, ...recorded.answers] }
    await within({ replay }, async ({ tenant }) => {
      const { signal } = new AbortController()
      const test = (more: JsonObject) =>
        tenant.exchange.run(
          'Test-MigrationServerAvailability',
          { Endpoint: 'fabrikam', ...more },
          { signal },
        )
      await assert.rejects(test({}), /TestMailbox is needed/)
      assert.equal((await test({ TestMailbox: "kim.o'brien@contoso.example" })).length, 1)
    })
  })

  it('refuses a file that is no recording, with its reason and what to do', async () => {
    for (const [text, says] of [
      ['no', /"[^"]+" is invalid: it is not JSON\. Make it with "matoolkit doctor tenant --record/],
      ['{"format":"matoolkit-tenant-recording","version":2,"answers":[]}', /version/],
    ] as const) {
      const file = newFile()
      writeFileSync(file, text)
      const io = recordingIo({ width: WIDE })
      const code = await run(['sandbox', '--port', '0', '--replay', file], io, [addSandboxCommands])
      assert.equal(code, EXIT.usage)
      assert.match(io.errText(), says)
      const flags = { port: 0, host: '127.0.0.1', replay: file }
      await assert.rejects(startSandbox(flags, io), { code: 'SANDBOX_RECORDING_INVALID' })
    }
  })
})

describe('every function with a tenant that answers as recorded', () => {
  const recordings = new Map<string, Promise<RecordedTenant>>()
  const recording = (notFound: '400' | '500' | 'text') => {
    if (!recordings.has(notFound)) recordings.set(notFound, recordedAs({ notFound }))
    return recordings.get(notFound)!
  }
  for (const [at, { name }] of STANDARD_FUNCTIONS.entries()) {
    const notFound = (['400', '500', 'text'] as const)[at % 3]!
    it(`${name} does the same (${notFound})`, async () => {
      const { params, gives, effects, missing } = caseOf(name)
      const replay = await recording(notFound)
      await within({ replay }, async (setting) => {
        const { status, result, error } = await setting.run(name, params)
        assert.equal(status, 'Success', error?.message)
        assert.partialDeepStrictEqual(result, gives)
        assert.deepEqual(setting.effects(), effects)
      })
      if (!missing) return
      await within({ replay }, async (setting) => {
        const { status } = await setting.run(name, { ...params, ...missing.params })
        assert.equal(status, name.startsWith('Test-') ? 'Success' : 'Failure')
        assert.deepEqual(setting.effects(), [])
      })
    })
  }
})
