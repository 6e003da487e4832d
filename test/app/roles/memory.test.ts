// A process with too little memory for its roles says so before it starts.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { leastHeapMb, requireMemory } from '../../../src/app/roles/memory.ts'
import { ROLES } from '../../../src/base/settings/process.ts'

const MB = 2 ** 20

it('refuses less than the roles need, and says what to do', () => {
  const least = leastHeapMb(['scheduler'])
  assert.throws(() => requireMemory(['scheduler'], (least - 1) * MB, ''), {
    code: 'MEMORY_TOO_SMALL',
    message: new RegExp(`grow to ${least - 1} MB.*scheduler.*--max-old-space-size=${least}`),
  })
  requireMemory(['scheduler'], least * MB, '')
  requireMemory(ROLES)
})

it('believes the limit that Node was given, the last one, before what V8 adds to it', () => {
  const least = leastHeapMb(['scheduler'])
  const flag = (mb: number) => `--max-old-space-size=${mb}`
  const check = (flags: string) => requireMemory(['scheduler'], (least + 192) * MB, flags)
  assert.throws(() => check(flag(least - 1)), { code: 'MEMORY_TOO_SMALL' })
  assert.throws(() => check(`${flag(least)} --max_old_space_size=${least - 1}`), {
    code: 'MEMORY_TOO_SMALL',
  })
  check(`${flag(least - 1)} ${flag(least)}`)
  check('--max-semi-space-size=4')
})

it('needs more for more roles', () => {
  for (const role of ROLES) assert.ok(leastHeapMb([role]) < leastHeapMb(ROLES))
})
