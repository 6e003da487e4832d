// Modules that use Graph and Exchange in a real PowerShell, connected by the worker. Stand-ins with the names and parameters of Microsoft's
// modules talk to the sandbox.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { realClock } from '../../../src/base/run/clock.ts'
import type { Json } from '../../../src/base/text/json.ts'
import { factsIn } from '../../../src/worker/functions/catalogue.ts'
import {
  type Discovered,
  discoverFunctions,
} from '../../../src/worker/functions/custom-functions.ts'
import { NO_TENANT, type Tenant } from '../../../src/worker/functions/tenant.ts'
import { withinOn } from '../../m365/functions/setting.ts'
import { NO_PWSH, pwshVersion } from './pwsh.ts'

const clock = realClock()
const STAND_INS = join(import.meta.dirname, 'stand-ins')

describe('a PowerShell module that says nothing of connections', { timeout: 120_000 }, () => {
  const pathBefore = process.env.PSModulePath
  let version: string | null = null
  before(async () => {
    version = await pwshVersion()
    process.env.PSModulePath = STAND_INS
    process.env.SANDBOX_CMDLETS = JSON.stringify({
      'Get-MailUser': ['Identity'],
      'Set-MailUser': ['Identity', 'EmailAddresses'],
    })
  })
  after(() => {
    delete process.env.SANDBOX_URL
    delete process.env.SANDBOX_CMDLETS
    if (pathBefore === undefined) delete process.env.PSModulePath
    else process.env.PSModulePath = pathBefore
  })

  const withFunctions = async (
    tell: (
      found: Discovered,
      call: (name: string, params: Json, tenant: Tenant) => Promise<Json>,
    ) => Promise<void>,
  ) => {
    const powerShell = { program: 'pwsh', cloud: 'public' as const }
    const folder = join(import.meta.dirname, 'connected')
    const found = await discoverFunctions({ folder, standard: [], clock, powerShell })
    const signal = new AbortController().signal
    try {
      assert.deepEqual(found.problems, [])
      await tell(found, (name, params, tenant) =>
        found.functions
          .find((each) => each.name === name)!
          .run({ params, tenant, signal, jobId: 'step-1', clock }),
      )
    } finally {
      found.close()
    }
  }

  it('is connected to Graph and Exchange before its functions run, and its errors are those of the services', async (test) => {
    if (version === null) return test.skip(NO_PWSH)
    await withinOn(clock, {}, async ({ sandbox, tenant, effects }) => {
      process.env.SANDBOX_URL = sandbox.url
      await withFunctions(async (_found, call) => {
        const UserId = "kim.o'brien@contoso.example"
        assert.deepEqual(await call('Test-FormerConnections', {}, tenant), {
          Graph: true,
          Exchange: 'Connected',
        })
        assert.deepEqual(
          await call('Set-FormerDepartment', { UserId, Department: 'Sales' }, tenant),
          {
            Name: "Kim O'Brien",
            Department: 'Sales',
            HasAddress: true,
          },
        )
        await assert.rejects(
          call('Get-FormerMissing', {}, tenant),
          /ManagementObjectNotFoundException\|/,
        )
        assert.ok(effects().length >= 2, effects().join('\n'))
        const others = sandbox.journal.requests.filter(({ path }) => path.includes('ada'))
        assert.deepEqual(others, [], 'nothing was asked about the person next door')
      })
    })
  })

  it('declares effect, repeatability and undo in its help', async (test) => {
    if (version === null) return test.skip(NO_PWSH)
    await withFunctions(async ({ functions }, call) => {
      const copy = functions.find(({ name }) => name === 'Invoke-FormerCopy')!
      assert.equal(copy.description, 'Says in its help what a manifest could say.')
      assert.deepEqual(
        [
          copy.isIdempotent,
          copy.undo,
          copy.permissions,
          factsIn(copy).effect,
          factsIn(copy).undoneBy,
        ],
        [
          true,
          'Set-FormerDepartment with the department from before.',
          { graph: ['User.ReadWrite.All'], exchange: [] },
          'changes',
          ['Set-FormerDepartment', 'Get-FormerMissing'],
        ],
      )
      assert.equal(await call('Invoke-FormerCopy', {}, NO_TENANT), true)
      const set = functions.find(({ name }) => name === 'Set-FormerDepartment')!
      assert.deepEqual([set.isIdempotent, set.undo, factsIn(set).effect], [false, null, 'changes'])
    })
  })
})
