// Passwords are strong, belong to one account, and stay the same when a job is repeated.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { realClock } from '../../../../src/base/run/clock.ts'
import { type M365Tenant, NO_M365_TENANT } from '../../../../src/m365/client/tenant.ts'
import {
  makePassword,
  ownPassword,
  passwordFor,
} from '../../../../src/m365/functions/entra/password.ts'
import { memorySecrets } from '../setting.ts'

const { signal } = new AbortController()

function callerWith(kept: Map<string, string>, id = 'a') {
  const secrets = memorySecrets(kept)
  const tenant: M365Tenant = Object.create(NO_M365_TENANT, {
    id: { value: id },
    organization: { value: 'a.example' },
    secrets: { value: secrets },
  })
  return { tenant, signal, clock: realClock() }
}

describe('passwords', () => {
  it('have twenty characters of all four classes and are unique', () => {
    const made = Array.from({ length: 200 }, makePassword)
    assert.equal(new Set(made).size, made.length)
    for (const one of made) {
      assert.equal(one.length, 20)
      for (const kind of [/[A-Z]/, /[a-z]/, /[0-9]/, /[^A-Za-z0-9]/]) assert.match(one, kind)
      assert.doesNotMatch(one, /[IOl01\s"'<>&\\]/)
    }
  })

  it('are created once per account, whatever the case of its name', async () => {
    const caller = callerWith(new Map())
    assert.equal(await ownPassword(caller, 'kim@a.example', null), null)
    const first = await passwordFor(caller, 'kim@a.example', null)
    const second = await passwordFor(caller, 'Kim@A.example', null)
    assert.deepEqual([first.isNew, second.isNew], [true, false])
    assert.deepEqual([second.value, second.reference], [first.value, first.reference])
    assert.equal(await ownPassword(caller, 'KIM@a.example', null), first.reference)
  })

  it('belong to one account in one tenant', async () => {
    const kept = new Map<string, string>()
    await passwordFor(callerWith(kept, 'a'), 'kim@a.example', null)
    assert.equal(await ownPassword(callerWith(kept, 'b'), 'kim@a.example', null), null)
    assert.equal(await ownPassword(callerWith(kept, 'a'), 'kim.a@example', null), null)
  })

  it('are replaced by a given one', async () => {
    const kept = new Map<string, string>()
    const caller = callerWith(kept)
    const { reference } = await passwordFor(caller, 'kim@a.example', null)
    const given = await passwordFor(caller, 'kim@a.example', 'Given-1-Password')
    assert.deepEqual([given.reference, kept.get(reference)], [reference, 'Given-1-Password'])
  })

  it('have names that Key Vault accepts', async () => {
    const long = `${"o'brien+ümlaut.".repeat(20)}@a.example`
    const { reference } = await passwordFor(callerWith(new Map()), long, null)
    assert.match(reference, /^[0-9a-zA-Z-]{1,110}$/)
  })
})
