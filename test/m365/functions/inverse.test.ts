// Every function's effect against the sandbox: what it reports, that its inverse restores the tenant object by object, that a second run
// reports nothing to undo, and that a later change by somebody else is left alone.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { JsonObject } from '../../../src/base/text/json.ts'
import { isReversible, type LedgerEffect, readEffect } from '../../../src/domain/state/effects.ts'
import { STANDARD_FUNCTIONS } from '../../../src/m365/functions/standard.ts'
import { caseOf, type Params } from './cases.ts'
import { type Setting, within } from './setting.ts'
import { OBRIEN } from './tenants.ts'
import { tenantsOf } from './tenants-alike.ts'

const effectOf = (answer: { readonly effect?: JsonObject | undefined }): LedgerEffect =>
  readEffect(answer.effect)!

async function runWell(setting: Setting, name: string, params: Params) {
  const answer = await setting.run(name, params)
  assert.equal(answer.status, 'Success', `${name}: ${answer.error?.message}`)
  return answer
}

const isChanging = (name: string) => !/^(?:Test|Get)-/.test(name)

describe('the inverse of every function', () => {
  for (const { name, undoneBy = [] } of STANDARD_FUNCTIONS) {
    const { params, again, isRepeated } = caseOf(name)

    it(`${name} reports what it changed, its inverse restores it, and a second run reports nothing`, () =>
      within({}, async (setting) => {
        const before = tenantsOf(setting.sandbox.state())
        const first = effectOf(await runWell(setting, name, params))
        assert.ok(
          first,
          'the effect of a standard function is never unknown: give its definition an effectOf, or say there why nothing takes it back',
        )
        assert.equal(first.changed, isChanging(name))
        if (!first.changed) return
        if (!isReversible(first)) {
          assert.match(first.irreversible, /\.$/)
        } else {
          assert.ok(undoneBy.includes(first.undo.functionName), 'undoneBy names it')
          await runWell(setting, first.undo.functionName, first.undo.parameters)
          if (!first.keeps) assert.deepEqual(tenantsOf(setting.sandbox.state()), before)
          if (name === 'Stop-MigrationUser') return // A started move fails in this tenant, and is started again.
          const undone = setting.effects().length
          const twice = await runWell(setting, first.undo.functionName, first.undo.parameters)
          assert.deepEqual(effectOf(twice), { changed: false })
          assert.equal(setting.effects().length, undone, 'undone twice, it changes nothing')
        }
      }))

    if (isChanging(name) && !isRepeated && ('Changed' in again || 'Created' in again))
      it(`${name} that found nothing to change has nothing to undo`, () =>
        within({}, async (setting) => {
          await runWell(setting, name, params)
          assert.equal(effectOf(await runWell(setting, name, params)).changed, false)
        }))
  }
})

/** Somebody else's change after ours, by function. */
const LATER: Readonly<Record<string, Params>> = {
  'Set-EntraUserUPN': { NewUserPrincipalName: 'ada.king@contoso.example' },
  'Set-EntraUserAttribute': { Value: 'Marketing' },
  'Set-EntraUserAttributes': { Attributes: { department: 'Marketing' } },
  'Set-EntraUserManager': { ManagerId: OBRIEN },
  'Set-ExchangePrimaryEmail': { NewPrimaryEmail: 'later@contoso.example' },
  'Set-ExchangeExternalAddress': { ExternalEmailAddress: 'later@fabrikam.example' },
  'Set-ExchangeForwarding': { ForwardingSmtpAddress: 'later@contoso.example' },
  'Set-ExchangeAutoReply': {
    State: 'Scheduled',
    InternalMessage: 'Later',
    StartTime: '2030-03-01T18:00:00Z',
    EndTime: '2030-03-02T18:00:00Z',
  },
  'Set-ExchangeCalendarPermission': { AccessRight: 'Owner' },
}

/** One person has one right before. */
const ONE: Readonly<Record<string, Params>> = {
  'Set-ExchangeCalendarPermission': { User: "kim.o'brien@contoso.example" },
}

describe('a later change by somebody else', () => {
  for (const [name, change] of Object.entries(LATER))
    it(`${name} leaves it alone and says what is there`, () =>
      within({}, async (setting) => {
        const params = { ...caseOf(name).params, ...ONE[name] }
        const effect = effectOf(await runWell(setting, name, params))
        assert.ok(isReversible(effect))
        const target = Object.fromEntries(
          ['UserId', 'Identity'].flatMap((key) =>
            effect.undo.parameters[key] === undefined ? [] : [[key, effect.undo.parameters[key]]],
          ),
        )
        await runWell(setting, name, { ...params, ...target, ...change })
        const after = tenantsOf(setting.sandbox.state())
        const { status, error } = await setting.run(
          effect.undo.functionName,
          effect.undo.parameters,
        )
        assert.equal(status, 'Failure')
        assert.deepEqual(
          [error?.type, error?.effect, error?.isFinal],
          ['ChangedSince', 'none', true],
        )
        assert.match(error!.message, / now, not .*it was changed since/)
        assert.deepEqual(tenantsOf(setting.sandbox.state()), after)
      }))
})
