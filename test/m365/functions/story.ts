// Test helper: each story runs in its own sandbox and checks what it left there.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Json } from '../../../src/base/text/json.ts'
import type { Params } from './cases.ts'
import { type Setting, type WithinOptions, within } from './setting.ts'

export async function succeeds(
  { run }: Pick<Setting, 'run'>,
  name: string,
  params: Params,
): Promise<Params> {
  const { status, result, error } = await run(name, params)
  assert.equal(status, 'Success', error?.message)
  return result as Record<string, Json>
}

export async function fails(
  setting: Setting,
  name: string,
  params: Params,
  type: string,
  says: RegExp,
) {
  const before = setting.effects().length
  const { error } = await setting.run(name, params)
  assert.equal(error?.type, type, JSON.stringify(error))
  assert.match(error.message, says)
  assert.equal(setting.effects().length, before, 'nothing was changed')
}

export const userOf = ({ sandbox }: Setting, userId: string) =>
  sandbox.state().tenants[0]!.users.find((user) => user.id === userId)!

export function story(
  title: string,
  tell: (setting: Setting) => Promise<void>,
  options: WithinOptions = {},
) {
  it(title, () => within(options, tell))
}

const KIM = "kim.o'brien@contoso.example"

/** Stamps the target with what its source has, and adds the licence. */
export async function prepareMove(s: Setting, isLicensed = true): Promise<void> {
  const from = await succeeds({ run: s.runAtSource }, 'Get-ExchangeMoveSource', {
    Identity: "kim.o'brien@fabrikam.example",
  })
  const { ExchangeGuid, ArchiveGuid, X500Addresses } = from
  await succeeds(s, 'Set-ExchangeMoveTarget', {
    Identity: KIM,
    TargetDeliveryDomain: 'contoso.onmicrosoft.com',
    ExchangeGuid: ExchangeGuid!,
    ArchiveGuid: ArchiveGuid!,
    X500Addresses: X500Addresses!,
  })
  const license = { UserId: KIM, SkuId: 'CROSS_TENANT_USER_DATA_MIGRATION' }
  if (isLicensed) await succeeds(s, 'Add-EntraUserLicense', license)
}
