// Which function a name stands for. A name that two functions share is refused unless one of them says that it is meant to run: a worker
// that skipped a customer's Remove-EntraUser, which disables, ran ours, which deletes.
import { named } from '../../base/text/same-name.ts'
import { hintFor } from '../../base/text/spelling.ts'
import type { WorkerFunction } from './catalogue.ts'

/** A sentence why a custom function cannot have its name; null if it can. */
export function nameFault(
  definition: WorkerFunction,
  standard: readonly WorkerFunction[],
  custom: readonly WorkerFunction[],
): string | null {
  const { name, overrides } = definition
  if (named(custom, name))
    return `another custom function is already named "${name}". Rename one of them.`
  const isBuiltIn = named(standard, name) !== undefined
  if (isBuiltIn && !overrides)
    return `there is a built-in function "${name}". Rename yours, or write "overrides: true" in it if it is to run instead.`
  if (isBuiltIn || !overrides) return null
  const names = standard.map((one) => one.name)
  return `"${name}" says "overrides: true", and no built-in function has that name. Correct the name, or remove "overrides". ${hintFor(name, names, 'There are')}`
}

/** What the worker runs: a custom function before the built-in one of its name. */
export const withCustom = (
  standard: readonly WorkerFunction[],
  custom: readonly WorkerFunction[],
): WorkerFunction[] => [...standard.filter((one) => !named(custom, one.name)), ...custom]
