// PowerShell modules as custom functions: how they are found and described, and that processes, deadlines, crashes and tokens are handled.
// A program of ours stands for `pwsh`, so this shows the worker's side of the protocol; test/proof/powershell shows the other.
import assert from 'node:assert/strict'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { realClock } from '../../src/base/run/clock.ts'
import type { Json } from '../../src/base/text/json.ts'
import { STANDARD_FUNCTIONS } from '../../src/m365/functions/standard.ts'
import {
  factsIn,
  parametersSchema,
  type WorkerFunction,
} from '../../src/worker/functions/catalogue.ts'
import { type Discovered, discoverFunctions } from '../../src/worker/functions/custom-functions.ts'
import { NO_TENANT, type Tenant } from '../../src/worker/functions/tenant.ts'
import { fitParameters } from '../../src/worker/jobs/fit-parameters.ts'
import { findPowerShellModules } from '../../src/worker/powershell/modules.ts'

const PWSH = join(import.meta.dirname, '../fixtures/powershell/pwsh.mjs')
const BADGES = join(import.meta.dirname, '../../examples/powershell-modules/Badges')
const clock = realClock()

describe('PowerShell modules', { timeout: 60_000 }, () => {
  let folder: string
  let opened: Discovered[]
  const stray: string[] = []
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'modules-'))
    opened = []
  })
  afterEach(async () => {
    for (const { close } of opened) close()
    await rm(folder, { recursive: true })
  })

  const discover = async (program = PWSH): Promise<Discovered> => {
    const powerShell = {
      program,
      cloud: 'public' as const,
      onSeveralObjects: (name: string, outputs: number) => void stray.push(`${name} ${outputs}`),
    }
    const standard = STANDARD_FUNCTIONS
    const found = await discoverFunctions({ folder, standard, clock, powerShell })
    opened.push(found)
    return found
  }
  const misbehaving = async () => {
    await writeFile(join(folder, 'Misbehaving.psm1'), '')
    const { functions, problems } = await discover()
    assert.deepEqual(problems, [])
    return (name: string, params: Json = {}, signal?: AbortSignal) =>
      run(functions, name, params, { ...(signal && { signal }) })
  }

  it('offer their functions with parameters, permissions and undo', async () => {
    await cp(BADGES, join(folder, 'Badges'), { recursive: true })
    const { functions, problems } = await discover()
    assert.deepEqual(problems, [])
    assert.deepEqual(
      functions.map(({ name, isIdempotent, undo }) => [name, isIdempotent, undo !== null]),
      [
        ['Set-BadgeOffice', true, true],
        ['Get-Badge', true, false],
        ['Test-BadgePrinted', true, false],
      ],
    )
    const [set] = functions
    assert.deepEqual(
      functions.map((found) => [factsIn(found).effect, factsIn(found).undoneBy]),
      [
        ['changes', ['Set-BadgeOffice']],
        ['reads', []],
        ['reads', []],
      ],
    )
    assert.deepEqual(set!.permissions, { graph: ['User.ReadWrite.All'], exchange: [] })
    assert.deepEqual(parametersSchema(set!).required, ['UserId', 'Office'])
    assert.deepEqual(fitParameters(set!, { userid: 'kim', office: 'Bonn', colour: 'green' }), {
      params: { UserId: 'kim', Office: 'Bonn', Colour: 'Green' },
    })
    assert.match(JSON.stringify(fitParameters(set!, { UserId: 'kim' })), /Office/)
  })

  it('run again when they are throttled, as in the earlier system, unless they say that they must run once', async () => {
    await writeFile(join(folder, 'Misbehaving.psm1'), '')
    const { functions } = await discover()
    const flags = (wanted: string) => {
      const { isIdempotent, repeatsWhenThrottled } = functions.find(({ name }) => name === wanted)!
      return { isIdempotent, repeatsWhenThrottled }
    }
    assert.deepEqual(flags('Write-Noise'), { isIdempotent: false, repeatsWhenThrottled: true })
    assert.deepEqual(flags('Send-Once'), { isIdempotent: false, repeatsWhenThrottled: false })
  })

  it('are refused with a fact that nobody knows, as with a misspelt one', async () => {
    await writeFile(join(folder, 'Guessing.psm1'), '')
    const { functions, problems } = await discover()
    assert.deepEqual(functions, [])
    assert.equal(problems.length, 1)
    assert.match(problems[0]!, /^Guessing\.psm1: Get-Guess: facts: Unrecognized key: "efect"/)
  })

  it('return true, an object, or an answer to a poll', async () => {
    await cp(BADGES, join(folder, 'Badges'), { recursive: true })
    const { functions } = await discover()
    const UserId = 'kim'
    const tenant = TENANT
    assert.deepEqual(await run(functions, 'Get-Badge', { UserId }, { tenant }), {
      name: 'kim',
      office: 'Berlin',
    })
    assert.deepEqual(await run(functions, 'Test-BadgePrinted', { UserId }, { tenant }), {
      complete: false,
      data: { office: null },
    })
    await assert.rejects(run(functions, 'Get-Badge', { UserId }), /has no tenant/)
  })

  it('may write to standard output without disturbing the worker', async () => {
    const call = await misbehaving()
    assert.equal(await call('Write-Noise'), 'quiet')
    assert.equal(await call('Get-Nothing'), true)
    stray.length = 0
    assert.deepEqual(await call('Get-Several'), { complete: true })
    assert.deepEqual(stray, ['Get-Several 3'])
  })

  it('run in one process after another call, and in several at the same time', async () => {
    const call = await misbehaving()
    const first = await call('Get-ProcessId')
    assert.equal(await call('Get-ProcessId'), first)
    const both = await Promise.all([call('Get-ProcessId'), call('Get-ProcessId')])
    assert.equal(new Set(both).size, 2)
    assert.ok(both.includes(first))
  })

  it('end at a deadline, with everything they started, and the next call works', async () => {
    const call = await misbehaving()
    const file = join(folder, 'processes.txt')
    const deadline = new AbortController()
    const running = call('Wait-Forever', { File: file }, deadline.signal)
    const processes = await eventually(async () => {
      const text = await readFile(file, 'utf8')
      assert.match(text, /^\d+ \d+$/)
      return text
    })
    deadline.abort(new Error('too late'))
    await assert.rejects(running, /too late/)
    for (const pid of processes.split(' ').map(Number)) await eventually(() => isGone(pid))
    assert.equal(typeof (await call('Get-ProcessId')), 'number')
  })

  it('that crash fail their call with what they said, and the next call works', async () => {
    const call = await misbehaving()
    await assert.rejects(call('Stop-Here'), /ended with code 3.*the module gave up/s)
    assert.equal(typeof (await call('Get-ProcessId')), 'number')
  })

  it('that crash are quoted from the beginning, without what an earlier call of the process wrote', async () => {
    const call = await misbehaving()
    await call('Write-Complaint')
    await assert.rejects(call('Stop-Crashing'), ({ message }: Error) => {
      assert.match(message, /ended with code 4\. It said: the reason/)
      return !message.includes('another person')
    })
  })

  it('leave no process behind when the deadline comes before the call begins, and show its reason', async () => {
    const call = await misbehaving()
    const pid = (await call('Get-ProcessId')) as number
    const deadline = new AbortController()
    const running = call('Get-Nothing', {}, deadline.signal)
    deadline.abort(new DOMException('too late', 'TimeoutError'))
    await assert.rejects(running, { name: 'TimeoutError', message: 'too late' })
    await eventually(() => isGone(pid))
  })

  it('see none of the settings of the worker', async () => {
    process.env.MATOOLKIT_APP_SECRET = 'hush'
    try {
      const call = await misbehaving()
      const names = Object.keys((await call('Get-Environment')) as object)
      assert.deepEqual(
        names.filter((name) => /^(MATOOLKIT_APP|MATOOLKIT_JOB|DATABASE)/.test(name)),
        [],
      )
      const { tokens } = (await call('Get-Request')) as { tokens: Json }
      assert.deepEqual(tokens, {})
    } finally {
      delete process.env.MATOOLKIT_APP_SECRET
    }
  })

  it('get tokens when they connect, and cannot show them', async () => {
    await writeFile(join(folder, 'Leaking.psm1'), '')
    const { functions } = await discover()
    assert.deepEqual(await run(functions, 'Show-Token', {}, { tenant: TENANT }), {
      told: 'Bearer ***',
      tenantId: TENANT.id,
      organization: TENANT.organization,
    })
    await assert.rejects(run(functions, 'Fail-WithToken', {}, { tenant: TENANT }), {
      message: '401 for ***',
    })
  })

  it('that say nothing of connections get both, and run on a worker without a tenant too', async () => {
    await writeFile(join(folder, 'Silent.psm1'), '')
    const { functions } = await discover()
    const asked: string[] = []
    const tenant: Tenant = Object.create(TENANT, {
      token: { value: async (service: string) => String(asked.push(service)) },
    })
    await run(functions, 'Get-Request', {}, { tenant })
    assert.deepEqual(asked, ['graph', 'exchange'])
    const { tokens } = (await run(functions, 'Get-Request', {})) as { tokens: Json }
    assert.deepEqual(tokens, {})
    const refusing: Tenant = Object.create(TENANT, {
      token: { value: () => Promise.reject(new Error('sign-in refused')) },
    })
    await assert.rejects(run(functions, 'Get-Request', {}, { tenant: refusing }), /sign-in refused/)
  })

  it('run instead of a built-in function where the manifest says so', async () => {
    await writeFile(join(folder, 'Overriding.psm1'), '')
    const { functions, problems } = await discover()
    assert.deepEqual(problems, [])
    assert.deepEqual(
      functions.map(({ overrides }) => overrides),
      [true],
    )
    assert.equal(await run(functions, 'Remove-EntraUser', {}), 'only disabled')
  })

  it('that cannot be imported are reported, and the others work', async () => {
    await writeFile(join(folder, 'Broken.psm1'), '')
    await writeFile(join(folder, 'Misbehaving.psm1'), '')
    const { functions, problems } = await discover()
    assert.ok(functions.some(({ name }) => name === 'Get-ProcessId'))
    assert.deepEqual(problems, [
      'Broken.psm1: it cannot be imported: The module "Broken" could not be loaded.',
    ])
  })

  it('are reported where PowerShell is missing, and other functions work', async () => {
    await writeFile(join(folder, 'Misbehaving.psm1'), '')
    const { functions, problems } = await discover(join(folder, 'no-pwsh'))
    assert.deepEqual(functions, [])
    assert.equal(problems.length, 1)
    assert.match(problems[0]!, /^Misbehaving\.psm1: PowerShell is not installed: .*MATOOLKIT_PWSH/)
  })

  it('end with the worker', async () => {
    const call = await misbehaving()
    const pid = (await call('Get-ProcessId')) as number
    opened[0]!.close()
    await eventually(() => isGone(pid))
    await assert.rejects(call('Get-ProcessId'), /the worker is stopping/i)
  })

  it('are found as files and in folders of their name, by their manifests', async () => {
    for (const name of ['A.psm1', 'B.psd1', 'B.psm1', '.C.psm1', 'D.ps1', 'e.ts'])
      await writeFile(join(folder, name), '')
    for (const [name, ...files] of [
      ['F', 'f.psd1', 'F.psm1', 'Other.psm1'],
      ['G', 'H.psm1'],
    ] as const) {
      await mkdir(join(folder, name))
      for (const file of files) await writeFile(join(folder, name, file), '')
    }
    const found = await findPowerShellModules(folder)
    assert.deepEqual(
      found.map((path) => path.slice(folder.length + 1)),
      ['A.psm1', 'B.psd1', 'F/f.psd1'],
    )
  })
})

const TENANT: Tenant = Object.create(NO_TENANT, {
  id: { value: 'tenant-id' },
  organization: { value: 'contoso.onmicrosoft.com' },
  token: { value: async (service: string) => `token-for-${service}` },
})

function run(
  functions: readonly WorkerFunction[],
  name: string,
  params: Json,
  { tenant = NO_TENANT, signal = new AbortController().signal } = {},
): Promise<Json> {
  const definition = functions.find((each) => each.name === name)
  assert.ok(definition, `no function ${name}`)
  return definition.run({ params, tenant, signal, jobId: 'step-1', clock })
}

/** A process that ended and that nobody waited for, a zombie, counts as gone. */
const isGone = async (pid: number): Promise<void> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => 'gone Z')
  assert.match(stat, / Z/, `process ${pid} still runs`)
}

/** The other process decides when; the test's own time limit ends the wait. */
async function eventually<T>(look: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await look()
    } catch {
      await setImmediate()
    }
  }
}
