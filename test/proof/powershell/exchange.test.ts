// Exchange through a real PowerShell, with a stand-in of Microsoft's module that talks to the sandbox: the contract of both ways, Exchange's
// functions, and how fast each way is.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { realClock } from '../../../src/base/run/clock.ts'
import {
  exchangeContract,
  sandboxCmdlets,
  type Way,
  within,
} from '../../m365/client/exchange-contract.ts'
import { caseOf } from '../../m365/functions/cases.ts'
import { withinOn } from '../../m365/functions/setting.ts'
import { NO_PWSH, pwshVersion } from './pwsh.ts'

const STAND_INS = join(import.meta.dirname, 'stand-ins')
const CALLS = 200

/** Functions whose cmdlets take values of a kind of their own. */
const CARRIED: Readonly<Record<string, string>> = {
  'New-ExchangeMailUser': 'a password',
  'New-MigrationBatch': 'bytes',
  'Set-ExchangeAutoReply': 'dates',
  'Add-ExchangeMailboxPermission': 'changes of lists',
  'Test-MigrationUser': 'what a person has come to',
}

const POWERSHELL: Way = {
  name: 'a real PowerShell',
  env: { MATOOLKIT_EXCHANGE_URL: 'powershell' },
  clock: realClock,
  whyNot: async () => ((await pwshVersion()) === null ? NO_PWSH : null),
}

describe('Exchange by a real PowerShell', { timeout: 600_000 }, () => {
  const pathBefore = process.env.PSModulePath
  before(() => {
    process.env.PSModulePath = STAND_INS
  })
  after(() => {
    if (pathBefore === undefined) delete process.env.PSModulePath
    else process.env.PSModulePath = pathBefore
  })

  exchangeContract(POWERSHELL)

  for (const [name, what] of Object.entries(CARRIED))
    it(`carries ${what}, signed in with a token`, async (test) => {
      const reason = await POWERSHELL.whyNot!()
      if (reason !== null) return test.skip(reason)
      const { params, gives, effects } = caseOf(name)
      const between = async (url: string) => (process.env.SANDBOX_URL = url)
      process.env.SANDBOX_CMDLETS = sandboxCmdlets()
      await withinOn(realClock(), { env: POWERSHELL.env, between }, async (setting) => {
        const done = await setting.run(name, params)
        assert.equal(done.status, 'Success', JSON.stringify(done.error))
        assert.partialDeepStrictEqual(done.result, gives)
        assert.deepEqual(setting.effects(), effects)
      })
    })

  it('serves so many cmdlets a second, four at a time', async (test) => {
    const reason = await POWERSHELL.whyNot!()
    if (reason !== null) return test.skip(reason)
    for (const { name, env } of [{ name: 'REST', env: {} }, POWERSHELL])
      await within({ env, clock: realClock }, async ({ run }) => {
        const read = () => run('Get-MailUser', { Identity: 'person1@contoso.example' })
        await Promise.all(Array.from({ length: 4 }, read))
        const start = performance.now()
        const found = await Promise.all(Array.from({ length: CALLS }, read))
        const seconds = (performance.now() - start) / 1_000
        assert.equal(found.flat().length, CALLS)
        test.diagnostic(`${name}: ${Math.round(CALLS / seconds)} cmdlets a second`)
      })
  })
})
