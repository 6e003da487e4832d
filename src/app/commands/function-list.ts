// `matoolkit function list`: the standard functions and, with --folder, custom ones.

import { EXIT, MatoolkitError } from '../../base/errors/errors.ts'
import { realClock } from '../../base/run/clock.ts'
import { loadConfig } from '../../base/settings/config.ts'
import { printable } from '../../base/text/printable.ts'
import { named } from '../../base/text/same-name.ts'
import { hintFor } from '../../base/text/spelling.ts'
import type { Io } from '../../cli/terminal/io.ts'
import { openShow } from '../../cli/terminal/output.ts'
import type { Column, OutputFormat, Show } from '../../cli/terminal/show.ts'
import { fieldsText } from '../../cli/terminal/table.ts'
import { functionReferenceOf, type ReferenceField } from '../../m365/function-reference.ts'
import { STANDARD_FUNCTIONS } from '../../m365/functions/standard.ts'
import {
  parametersSchema,
  resultSchema,
  type WorkerFunction,
} from '../../worker/functions/catalogue.ts'
import { discoverFunctions } from '../../worker/functions/custom-functions.ts'
import { withCustom } from '../../worker/functions/function-names.ts'

export interface FunctionFlags {
  readonly folder?: string
  readonly output?: OutputFormat
}

type FunctionRow = ReturnType<typeof jsonOf>

const LIST: readonly Column<FunctionRow>[] = [
  ['FUNCTION', 'name', 'whole'],
  ['WHAT IT DOES', 'description'],
]

export async function listFunctions({ folder, output }: FunctionFlags, io: Io): Promise<void> {
  const show = openShow(output, io)
  const rows = (await functionsWith(folder, io)).map(jsonOf)
  await show.list({ whole: rows, rows, columns: LIST, empty: '' })
}

const FUNCTION: readonly Column<FunctionRow>[] = [
  ['NAME', 'name'],
  ['DESCRIPTION', 'description'],
  ['PERMISSIONS', 'permissions'],
  ['IDEMPOTENT', 'isIdempotent'],
  ['UNDO', 'undo'],
  ['PARAMETERS', 'parameters'],
  ['RESULT', 'result'],
]

export async function showFunction(
  name: string,
  { folder, output }: FunctionFlags,
  io: Io,
): Promise<void> {
  const show = openShow(output, io)
  const functions = await functionsWith(folder, io)
  const found = named(functions, name)
  if (!found) {
    const hint = hintFor(
      name,
      functions.map((each) => each.name),
      'There are',
    )
    throw new MatoolkitError('FUNCTION_NOT_FOUND', { name, hint })
  }
  if (show.format !== 'table') return show.one(jsonOf(found), FUNCTION)
  await showPage(found, show, io)
}

async function functionsWith(folder: string | undefined, io: Io): Promise<WorkerFunction[]> {
  if (folder === undefined) return [...STANDARD_FUNCTIONS]
  const standard = STANDARD_FUNCTIONS
  const { pwsh: program, cloud } = loadConfig()
  const powerShell = { program, cloud }
  const found = await discoverFunctions({ folder, standard, clock: realClock(), powerShell })
  found.close()
  for (const problem of found.problems) io.err(printable(problem))
  if (found.problems.length > 0) io.exitCode = EXIT.failed
  return withCustom(standard, found.functions)
}

const jsonOf = (definition: WorkerFunction) => ({
  name: definition.name,
  description: definition.description,
  parameters: parametersSchema(definition),
  result: resultSchema(definition),
  permissions: definition.permissions,
  isIdempotent: definition.isIdempotent,
  togetherMax: definition.together?.limit ?? null,
  undo: definition.undo,
  overrides: definition.overrides ?? false,
})

const PARAMETERS: readonly Column<ReferenceField>[] = [
  ['PARAMETER', 'name', 'whole'],
  ['TYPE', 'type'],
  ['DEFAULT', ({ default: given, isRequired }) => given ?? (isRequired ? 'required' : null)],
  ['ABOUT', 'about'],
]
const RESULT: readonly Column<ReferenceField>[] = [
  ['RESULT', 'name', 'whole'],
  ['TYPE', 'type'],
  ['ABOUT', 'about'],
]
type Rest = Pick<
  ReturnType<typeof functionReferenceOf>,
  'permissions' | 'isIdempotent' | 'togetherMax' | 'undo'
>
const REST: readonly Column<Rest>[] = [
  ['NEEDS', ({ permissions }) => permissions.join(', ') || 'nothing'],
  [
    'REPEATABLE',
    ({ isIdempotent }) => (isIdempotent ? 'yes' : 'no; it is never repeated automatically'),
  ],
  ['AT ONCE', ({ togetherMax }) => (togetherMax ? `up to ${togetherMax} people` : 'one person')],
  ['UNDO', ({ undo }) => undo ?? 'nothing to undo'],
]

/** The reference of one function, for people. */
async function showPage(definition: WorkerFunction, show: Show, io: Io): Promise<void> {
  const { name, description, parameters, result, resultType, ...rest } =
    functionReferenceOf(definition)
  const part = async (
    fields: readonly ReferenceField[],
    columns: readonly Column<ReferenceField>[],
    empty: string,
  ) => {
    await show.list({ whole: null, rows: fields, columns, empty })
    show.say('')
  }
  io.out(fieldsText([[name, printable(description)]], io))
  show.say('')
  await part(parameters, PARAMETERS, 'PARAMETER  none')
  await part(result, RESULT, `RESULT  ${resultType}`)
  await show.one(rest, REST)
}
