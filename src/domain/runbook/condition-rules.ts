// Rules of `when`: each condition has exactly one test, and compares with plain values.

import { CONDITION_TESTS } from './conditions.ts'
import { mapsOf, nodeAt, type StepOutline } from './outline.ts'
import type { Findings } from './problems.ts'
import type { Entry, Node } from './tree.ts'

export const conditionsIn = ({ node, path }: Pick<StepOutline, 'node' | 'path'>) =>
  mapsOf(nodeAt(node, 'when'), `${path}.when`)

export function checkConditions(step: StepOutline, findings: Findings): void {
  for (const { node, path } of conditionsIn(step)) {
    const tests = CONDITION_TESTS.flatMap((test) => node.entries.get(test) ?? [])
    if (tests.length !== 1) findings.add('CONDITION_TESTS', node, path, { count: tests.length })
    for (const test of tests) checkValues(test, path, findings)
  }
}

function checkValues({ key, value }: Entry, path: string, findings: Findings): void {
  if (key === 'present') return
  const values: readonly Node[] =
    value.kind === 'list' && !key.startsWith('is') ? value.items : [value]
  for (const one of values) {
    const isPlain = one.kind === 'scalar' && one.value !== null
    const isTemplate = isPlain && typeof one.value === 'string' && one.value.includes('{{')
    if (!isPlain || isTemplate) findings.add('CONDITION_VALUE', one, `${path}.${key}`, { key })
  }
}
