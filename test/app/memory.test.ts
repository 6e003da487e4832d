// A process with too little memory for its roles says so before it starts.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { leastHeapMb, requireMemory } from '../../src/app/memory.ts'
import { ROLES } from '../../src/config.ts'

const MB = 2 ** 20

it('refuses less than the roles need, and says what to do', () => {
  const least = leastHeapMb(['scheduler'])
  assert.throws(() => requireMemory(['scheduler'], (least - 1) * MB), {
    code: 'MEMORY_TOO_SMALL',
    message: new RegExp(`grow to ${least - 1} MB.*scheduler.*--max-old-space-size=${least}`),
  })
  requireMemory(['scheduler'], least * MB)
  requireMemory(ROLES)
})

it('needs more for more roles', () => {
  for (const role of ROLES) assert.ok(leastHeapMb([role]) < leastHeapMb(ROLES))
})
