import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { addFunctionCommands } from '../../../src/app/commands/function.ts'
import { run } from '../../../src/cli/program/program.ts'
import { WIDE } from '../../cli/against-api.ts'
import { recordingIo } from '../../cli/recording-io.ts'

const folder = join(import.meta.dirname, '../../../examples/custom-functions')

async function say(...args: string[]) {
  const io = recordingIo({ width: WIDE })
  const code = await run(['function', ...args], io, [addFunctionCommands])
  return { code, out: io.outText(), err: io.errText() }
}

describe('matoolkit function', () => {
  it('lists the functions, and those of a folder', async () => {
    const { code, out } = await say('list')
    assert.equal(code, 0)
    assert.match(out, /^FUNCTION +WHAT IT DOES\nNew-EntraUser +Creates/)
    assert.doesNotMatch(out, /Set-BadgeNumber/)
    assert.match((await say('list', '--folder', folder)).out, /^Set-BadgeNumber +Writes/m)
  })

  it('names unusable modules of a folder, and fails', async () => {
    const { code, out, err } = await say('list', '--folder', join(folder, 'none'))
    assert.equal(code, 1)
    assert.match(err, /Cannot read the folder/)
    assert.match(out, /New-EntraUser/)
  })

  it('shows a function by name in any case', async () => {
    const { out } = await say('list', 'SET-badgenumber', '--folder', folder)
    assert.equal(
      out,
      `Set-BadgeNumber  Writes a badge number to extensionAttribute7 of a user.

PARAMETER  TYPE          DEFAULT   ABOUT
UserId     text          required  Object id or user principal name.
Number     whole number  required

RESULT  true or false

NEEDS       Microsoft Graph: User.ReadWrite.All
REPEATABLE  yes
AT ONCE     one person
UNDO        Set-BadgeNumber with the previous number.
`,
    )
  })

  it('gives JSON with the schemas', async () => {
    const { out } = await say('list', 'Test-BadgePrinted', '--folder', folder, '--output', 'json')
    const shown = JSON.parse(out) as Record<string, unknown>
    assert.deepEqual(Object.keys(shown), [
      'name',
      'description',
      'parameters',
      'result',
      'permissions',
      'isIdempotent',
      'togetherMax',
      'undo',
      'overrides',
    ])
    assert.equal(
      (JSON.parse((await say('list', '--output', 'json')).out) as unknown[]).length > 20,
      true,
    )
  })

  it('suggests a name for an unknown one', async () => {
    const { code, err } = await say('list', 'New-EntrUser')
    assert.equal(code, 5)
    assert.match(err, /There is no function "New-EntrUser"\. Did you mean "New-EntraUser"\?/)
  })
})
