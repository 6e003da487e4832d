import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../../../sandbox/sandbox.ts'
import { addSandboxCommands } from '../../../src/app/commands/sandbox.ts'
import {
  type SandboxFlags,
  startSandbox,
  workerSettings,
} from '../../../src/app/sandbox/sandbox.ts'
import { sandboxTokenFile } from '../../../src/app/sandbox/sandbox-token.ts'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { readConfig } from '../../../src/base/settings/config.ts'
import { run } from '../../../src/cli/program/program.ts'
import { recordingIo } from '../../cli/recording-io.ts'

const folder = mkdtempSync(join(tmpdir(), 'matoolkit-sandbox-'))
const { MATOOLKIT_HOME } = process.env
before(() => {
  process.env.MATOOLKIT_HOME = join(folder, 'home')
})
after(() => {
  process.env.MATOOLKIT_HOME = MATOOLKIT_HOME
  if (MATOOLKIT_HOME === undefined) delete process.env.MATOOLKIT_HOME
  rmSync(folder, { recursive: true })
})

const file = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const start = (flags: Partial<SandboxFlags> = {}) => {
  const io = recordingIo()
  return startSandbox({ port: 0, host: '127.0.0.1', ...flags }, io).then((sandbox) => ({
    sandbox,
    io,
  }))
}

/** As the printed command does it: with the token from its file. */
const control = (sandbox: Sandbox, what: string) =>
  fetch(`${sandbox.url}/_sandbox/${what}`, {
    headers: { authorization: `Bearer ${readFileSync(sandboxTokenFile(sandbox), 'utf8')}` },
  })

describe('matoolkit sandbox', () => {
  it('prints its address and credentials', async () => {
    const { sandbox, io } = await start()
    await using _ = { [Symbol.asyncDispose]: () => sandbox.close() }
    const [source] = sandbox.state().tenants
    assert.match(io.outText(), new RegExp(sandbox.url))
    assert.match(
      io.outText(),
      new RegExp(`contoso\\.example +${source!.id} +\\S+ +sandbox-secret +3 +1`),
    )
    assert.equal((await control(sandbox, 'state')).status, 200)
  })

  it('keeps the token of its control endpoints in a private file while it runs', async () => {
    const { sandbox, io } = await start()
    const tokenFile = sandboxTokenFile(sandbox)
    try {
      assert.equal(readFileSync(tokenFile, 'utf8'), sandbox.controlToken)
      assert.equal(statSync(tokenFile).mode & 0o777, 0o600)
      const bearer = `curl -H "Authorization: Bearer $(cat "${tokenFile}")"`
      assert.ok(io.outText().includes(`${bearer} ${sandbox.url}/_sandbox/state`))
      assert.ok(!io.outText().includes(sandbox.controlToken))
      assert.equal((await fetch(`${sandbox.url}/_sandbox/state`)).status, 401)
    } finally {
      await sandbox.close()
    }
    assert.ok(!existsSync(tokenFile))
  })

  it('shows settings that a worker understands', async () => {
    const { sandbox, io } = await start()
    await using _ = { [Symbol.asyncDispose]: () => sandbox.close() }
    const settings = workerSettings(sandbox)
    assert.ok('config' in readConfig(settings))
    for (const [name, value] of Object.entries(settings))
      assert.ok(io.outText().includes(`  ${name}=${value}\n`))
  })

  it('reads seeds from CSV or JSON, and faults from rates or a file', async () => {
    const csv = file('people.csv', 'UserPrincipalName\nada@tailspin.example\n')
    const json = file('state.json', '{ "tenants": [{ "domains": ["tailspin.example"] }] }')
    const faults = file('faults.json', '{ "script": [{ "on": "*", "fault": "slow" }] }')
    for (const flags of [
      { seed: csv, faults: 'throttle=0.5' },
      { seed: json, faults },
    ]) {
      const { sandbox } = await start(flags)
      await using _ = { [Symbol.asyncDispose]: () => sandbox.close() }
      assert.equal(sandbox.state().tenants[0]!.domains[0], 'tailspin.example')
      const set = (await (await control(sandbox, 'faults')).json()) as {
        script: unknown[]
        rates: object
      }
      assert.ok(set.script.length > 0 || Object.keys(set.rates).length > 0)
    }
  })

  const WRONG: readonly [name: string, flags: () => Partial<SandboxFlags>, code: string][] = [
    ['a file that is not there', () => ({ seed: 'gone.json' }), 'FILE_UNREADABLE'],
    [
      'a seed that does not fit',
      () => ({ seed: file('wrong.json', '{}') }),
      'SANDBOX_SEED_INVALID',
    ],
    ['a seed that is no JSON', () => ({ seed: file('no.json', '{') }), 'SANDBOX_SEED_INVALID'],
    [
      'a seed with semicolons',
      () => ({ seed: file('semi.csv', 'UserPrincipalName;Mail\na@x.example;a\n') }),
      'SANDBOX_SEED_INVALID',
    ],
    ['rates that do not fit', () => ({ faults: 'hail=1' }), 'SANDBOX_FAULTS_INVALID'],
    [
      'faults that do not fit',
      () => ({ faults: file('bad.json', '{ "script": 1 }') }),
      'SANDBOX_FAULTS_INVALID',
    ],
    [
      'faults that are no JSON',
      () => ({ faults: file('none.json', '{') }),
      'SANDBOX_FAULTS_INVALID',
    ],
  ]
  for (const [name, flags, code] of WRONG) {
    it(`refuses ${name}`, async () => {
      await assert.rejects(start(flags()), { code })
    })
  }

  it('names row and column of every wrong person', async () => {
    const rows = ['a@x.example,1', 'b,2', '', ',4', 'A@x.example,5']
    const seed = file('people-wrong.csv', `UserPrincipalName,Id\n${rows.join('\n')}\n`)
    await assert.rejects(start({ seed }), (error: Error) => {
      assert.match(error.message, /row 3, column UserPrincipalName: "b" is not an address/)
      assert.match(error.message, /row 5, column UserPrincipalName: it is empty/)
      assert.match(error.message, /row 6, .*: "A@x\.example" is already in row 2/)
      return true
    })
  })

  it('refuses a port that is taken', async () => {
    const { sandbox } = await start()
    await using _ = { [Symbol.asyncDispose]: () => sandbox.close() }
    await assert.rejects(start({ port: Number(new URL(sandbox.url).port) }), {
      code: 'PORT_UNUSABLE',
    })
  })

  it('refuses an invalid port', async () => {
    const io = recordingIo()
    assert.equal(await run(['sandbox', '--port', 'x'], io, [addSandboxCommands]), EXIT.usage)
    assert.match(io.errText(), /from 0 to 65535/)
  })
})
