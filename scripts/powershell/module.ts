// The PowerShell module over the API, generated from the table of routes when the package is made: a cmdlet for every endpoint that people use. What all cmdlets share
// is in session.ps1. Endpoints with the same verb and noun are one cmdlet with a parameter set each.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { openApiDocument } from '../../src/api/openapi.ts'
import type { Route } from '../../src/api/route.ts'
import { describedRoutes } from '../../src/api/routes.ts'
import type { JsonObject } from '../../src/base/text/json.ts'
import { cmdletName, ownName } from './names.ts'

export interface CmdletParameter {
  readonly name: string
  readonly place: 'path' | 'query' | 'body'
  readonly isMandatory: boolean
  readonly type: string
  readonly choices: readonly string[]
  readonly about: string
}

interface CmdletRoute {
  readonly route: Route
  readonly parameters: readonly CmdletParameter[]
}

/** A stream never ends, and metrics and pictures are not for people at a prompt. */
const LEFT_OUT = ['listenEvents', 'getMetrics', 'getGrid', 'getGridOverview']

export const cmdletRoutes = (): readonly Route[] =>
  describedRoutes().filter(
    ({ rule, operation }) => rule !== 'anonymous' && !LEFT_OUT.includes(operation),
  )

interface Operation {
  readonly parameters?: readonly (JsonObject & { readonly name: string; readonly in: string })[]
  readonly requestBody?: { readonly content: Record<string, { readonly schema: JsonObject }> }
}

/** Variables that PowerShell keeps for itself. */
const RENAMED: Readonly<Record<string, string>> = { error: 'ErrorText' }

const pascal = (name: string): string =>
  RENAMED[name] ?? name.charAt(0).toUpperCase() + name.slice(1)

/** The cmdlets by name, each with its endpoints. */
export function cmdlets(): ReadonlyMap<string, readonly CmdletRoute[]> {
  const routes = cmdletRoutes()
  const document = openApiDocument(routes) as unknown as {
    readonly paths: Record<string, Record<string, Operation>>
    readonly components: { readonly schemas: Record<string, JsonObject> }
  }
  const described = routes.map((route) => {
    const operation = document.paths[route.path]![route.method.toLowerCase()]!
    return { route, parameters: parametersOf(operation, document.components.schemas) }
  })
  const needs = new Set<string>()
  return Map.groupBy(described, ({ route, parameters }) => {
    const name = cmdletName(route.operation)
    // PowerShell tells the endpoints of a cmdlet apart by what must be given; one that needs the same gets a name of its own.
    const must = parameters.filter(({ isMandatory }) => isMandatory).map((one) => one.name)
    const need = `${name} ${must.sort().join(' ')}`
    if (needs.has(need)) return ownName(route.operation)
    needs.add(need)
    return name
  })
}

function parametersOf(
  { parameters = [], requestBody }: Operation,
  schemas: Record<string, JsonObject>,
): CmdletParameter[] {
  const inAddress = parameters
    .filter((one) => one.in === 'path' || one.in === 'query')
    .filter(({ name }) => name !== 'cursor')
    .map((one) =>
      parameterOf(one.name, one.in as 'path' | 'query', one.required === true, {
        ...(one.schema as JsonObject),
        ...(one.description !== undefined && { description: one.description }),
      }),
    )
  const whole = Object.values(requestBody?.content ?? {})[0]?.schema ?? {}
  const reference = typeof whole.$ref === 'string' ? whole.$ref.split('/').at(-1)! : null
  const { properties = {}, required = [] } = (reference ? schemas[reference]! : whole) as {
    properties?: Record<string, JsonObject>
    required?: string[]
  }
  const inBody = Object.entries(properties).map(([name, schema]) =>
    parameterOf(name, 'body', required.includes(name), schema),
  )
  const known = new Set(inAddress.map(({ name }) => name))
  return [...inAddress, ...inBody.filter(({ name }) => !known.has(name))]
}

function parameterOf(
  name: string,
  place: CmdletParameter['place'],
  isMandatory: boolean,
  schema: JsonObject,
): CmdletParameter {
  const items = (schema.items ?? {}) as JsonObject
  const choices = (schema.enum ?? items.enum ?? []) as readonly string[]
  const about = typeof schema.description === 'string' ? schema.description : ''
  return { name: pascal(name), place, isMandatory, type: typeOf(schema), choices, about }
}

function typeOf({ type, items }: JsonObject): string {
  if (type === 'integer') return 'long'
  if (type === 'number') return 'double'
  if (type === 'boolean') return 'bool'
  if (type === 'string') return 'string'
  if (type === 'array') {
    const kind = typeOf((items ?? {}) as JsonObject)
    return kind === 'object' ? 'object[]' : `${kind}[]`
  }
  return 'object'
}

/** Single quotes hold everything but themselves; PowerShell takes curly ones for quotes too. */
const quoted = (text: string): string => `'${text.replaceAll(/['‘’‚‛]/g, "''")}'`

const DANGEROUS = /^(?:Stop|Remove|Undo|Disable|Revoke)-/

function cmdletText(name: string, routes: readonly CmdletRoute[]): string {
  const isChange = routes.some(({ route }) => route.action !== null)
  const [first] = routes
  const fewest = routes.toSorted((a, b) => mandatoryIn(a) - mandatoryIn(b))[0]!
  const binding = [
    `DefaultParameterSetName = ${quoted(fewest.route.operation)}`,
    ...(isChange ? ['SupportsShouldProcess = $true'] : []),
    ...(DANGEROUS.test(name) ? ["ConfirmImpact = 'High'"] : []),
  ]
  const names = [...new Set(routes.flatMap(({ parameters }) => parameters.map((one) => one.name)))]
  const declared = names.map((one) => parameterText(one, routes))
  const branches = routes.map(({ route, parameters }) => branchText(route, parameters))
  return `function ${name} {
    <#
    .SYNOPSIS
    ${helpText(routes.map(({ route }) => `${route.summary}.`).join(' '))}
    .DESCRIPTION
    ${routes.map(({ route }) => helpText(`${route.method} ${route.path}. ${route.about ?? ''}`)).join('\n    ')}
${names.map((one) => `    .PARAMETER ${one}\n    ${helpText(aboutOf(one, routes))}`).join('\n')}
    .EXAMPLE
    ${exampleOf(name, first!)}
    #>
    [CmdletBinding(${binding.join(', ')})]
    param(
${declared.join(',\n')}
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
${branches.join('\n')}
        }
    }
}
`
}

const mandatoryIn = ({ parameters }: CmdletRoute): number =>
  parameters.filter(({ isMandatory }) => isMandatory).length

/** A comment of help ends at its mark. */
const helpText = (text: string): string => text.trim().replaceAll('#>', '# >').replaceAll('\n', ' ')

const aboutOf = (name: string, routes: readonly CmdletRoute[]): string =>
  routes.flatMap(({ parameters }) => parameters).find((one) => one.name === name && one.about)
    ?.about ?? `The ${name.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter}`).toLowerCase()}.`

const exampleOf = (name: string, { parameters }: CmdletRoute): string =>
  [
    name,
    ...parameters.filter((one) => one.isMandatory).map((one) => `-${one.name} <${one.type}>`),
  ].join(' ')

function parameterText(name: string, routes: readonly CmdletRoute[]): string {
  const holders = routes.flatMap(({ route, parameters }) =>
    parameters.filter((one) => one.name === name).map((one) => ({ set: route.operation, one })),
  )
  const types = new Set(holders.map(({ one }) => one.type))
  const type = types.size === 1 ? [...types][0]! : 'object'
  const choices = new Set(holders.flatMap(({ one }) => one.choices))
  const attributes = holders.map(({ set, one }) => {
    const piped = one.place === 'path' ? ', ValueFromPipelineByPropertyName = $true' : ''
    const mandatory = one.isMandatory ? ', Mandatory = $true' : ''
    return `        [Parameter(ParameterSetName = ${quoted(set)}${mandatory}${piped})]`
  })
  const set = choices.size > 0 ? `[ValidateSet(${[...choices].map(quoted).join(', ')})] ` : ''
  return [...attributes, `        ${set}[${type}] $${name}`].join('\n')
}

function branchText(route: Route, parameters: readonly CmdletParameter[]): string {
  const namesAt = (place: CmdletParameter['place']) =>
    parameters
      .filter((one) => one.place === place)
      .map(({ name }) => quoted(name))
      .join(', ')
  const call = [
    `-Method ${quoted(route.method)} -Path ${quoted(route.path)} -Bound $PSBoundParameters`,
    `-InPath @(${namesAt('path')}) -InQuery @(${namesAt('query')}) -InBody @(${namesAt('body')})`,
    ...(route.creates ? ['-Creates'] : []),
    ...(route.takes === 'upload' ? ['-Upload'] : []),
    ...(route.method === 'GET' ? ['-Paged'] : []),
  ].join(' ')
  const target = parameters.filter(({ place }) => place === 'path').map(({ name }) => `$${name}`)
  const what = target.length === 0 ? quoted('matoolkit') : `"${target.join(' ')}"`
  return route.action === null
    ? `            ${quoted(route.operation)} { Invoke-MatRequest ${call} }`
    : `            ${quoted(route.operation)} {
                if ($PSCmdlet.ShouldProcess(${what}, ${quoted(route.summary)})) {
                    Invoke-MatRequest ${call}
                }
            }`
}

const OWN = ['Connect-Matoolkit', 'Disconnect-Matoolkit']

/** Without it Windows PowerShell 5.1 reads a file in the code page of the machine. */
const BYTE_ORDER_MARK = '\uFEFF'

function powerShellModule(): string {
  const all = [...cmdlets()].sort(([a], [b]) => (a < b ? -1 : 1))
  return [
    `${BYTE_ORDER_MARK}# Cmdlets over the admin API of matoolkit. Generated from the table of routes.\n`,
    readFileSync(join(import.meta.dirname, 'session.ps1'), 'utf8'),
    `$script:MatNames = @{ ${Object.entries(RENAMED)
      .map(([name, renamed]) => `${renamed} = ${quoted(name)}`)
      .join('; ')} }\n`,
    ...all.map(([name, routes]) => cmdletText(name, routes)),
    `Export-ModuleMember -Function @(${[...OWN, ...all.map(([name]) => name)].map(quoted).join(', ')})\n`,
  ].join('\n')
}

function powerShellManifest(): string {
  const names = [...OWN, ...[...cmdlets().keys()].sort()].map((name) => `        ${quoted(name)}`)
  return `# The manifest of the module. Generated from the table of routes.
@{
    RootModule = 'Matoolkit.psm1'
    ModuleVersion = ${quoted(manifest.version)}
    GUID = '6f0d2c6e-5b1f-4b55-9a3e-2c8f0e7d41a9'
    Author = 'matoolkit'
    Description = 'Cmdlets over the admin API of matoolkit.'
    PowerShellVersion = '5.1'
    CompatiblePSEditions = @('Desktop', 'Core')
    FunctionsToExport = @(
${names.join('\n')}
    )
    CmdletsToExport = @()
    VariablesToExport = @()
    AliasesToExport = @()
}
`
}

/** The files of the module, as they are in the package under powershell/Matoolkit. */
export const POWERSHELL_MODULE = {
  'Matoolkit.psm1': powerShellModule,
  'Matoolkit.psd1': powerShellManifest,
}
