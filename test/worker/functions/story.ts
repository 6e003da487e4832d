// Test helper: each story runs in its own sandbox and checks what it left there.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Json } from '../../../src/domain/json.ts'
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
