// `matoolkit function list` and `show`: the worker's own functions and, when a folder is named, those in it, for a person or as JSON.
import { realClock } from '../clock.ts'
import { hintFor } from '../domain/spelling.ts'
import { EXIT, MatoolkitError } from '../errors.ts'
import { parametersSchema, resultSchema, type WorkerFunction } from '../worker/catalogue.ts'
import { discoverFunctions } from '../worker/custom-functions.ts'
import { type Field, referenceOf } from '../worker/function-reference.ts'
import { STANDARD_FUNCTIONS } from '../worker/functions/standard.ts'
import { type Io, printable, tableText } from './io.ts'

export interface FunctionFlags {
  readonly folder?: string
  readonly output: 'table' | 'json'
}

export async function listFunctions({ folder, output }: FunctionFlags, io: Io): Promise<void> {
  const functions = await functionsWith(folder, io)
  if (output === 'json') return io.out(JSON.stringify(functions.map(jsonOf), null, 2))
  const rows = functions.map(({ name, description }) => [name, printable(description)])
  io.out(tableText([['FUNCTION', 'WHAT IT DOES'], ...rows]))
}

export async function showFunction(
  name: string,
  { folder, output }: FunctionFlags,
  io: Io,
): Promise<void> {
  const functions = await functionsWith(folder, io)
  const found = functions.find((one) => one.name.toLowerCase() === name.toLowerCase())
  if (!found) {
    const hint = hintFor(
      name,
      functions.map((one) => one.name),
      'There are',
    )
    throw new MatoolkitError('FUNCTION_NOT_FOUND', { name, hint })
  }
  io.out(output === 'json' ? JSON.stringify(jsonOf(found), null, 2) : pageOf(found, io))
}

async function functionsWith(folder: string | undefined, io: Io): Promise<WorkerFunction[]> {
  if (folder === undefined) return [...STANDARD_FUNCTIONS]
  const standard = STANDARD_FUNCTIONS
  const found = await discoverFunctions({ folder, standard, clock: realClock() })
  for (const problem of found.problems) io.err(printable(problem))
  if (found.problems.length > 0) io.exitCode = EXIT.failed
  return [...standard, ...found.functions]
}

const jsonOf = (one: WorkerFunction) => ({
  name: one.name,
  description: one.description,
  parameters: parametersSchema(one),
  result: resultSchema(one),
  permissions: one.permissions,
  isIdempotent: one.isIdempotent,
  undo: one.undo,
})

function pageOf(one: WorkerFunction, io: Io): string {
  const { name, description, parameters, result, resultType, ...rest } = referenceOf(one)
  const gives =
    result.length > 0
      ? tableText([['RESULT', 'TYPE', ''], ...result.map(resultRow)])
      : `RESULT  ${resultType}`
  const takes =
    parameters.length > 0
      ? tableText([['PARAMETER', 'TYPE', 'DEFAULT', ''], ...parameters.map(parameterRow)])
      : 'PARAMETER  none'
  return [
    `${io.paint('bold', name)}  ${printable(description)}`,
    takes,
    gives,
    tableText([
      ['NEEDS', rest.permissions.join(', ') || 'nothing'],
      ['TWICE', rest.isIdempotent ? 'does no more than once' : 'is never done by itself'],
      ['UNDO', rest.undo ?? 'nothing to take back'],
    ]),
  ].join('\n\n')
}

const parameterRow = (field: Field): string[] => [
  field.name,
  field.type,
  field.default ?? (field.isRequired ? 'required' : ''),
  printable(field.about),
]

const resultRow = (field: Field): string[] => [field.name, field.type, printable(field.about)]
