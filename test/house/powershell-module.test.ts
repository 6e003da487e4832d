// The PowerShell module without PowerShell: a grammar reads it, and what it declares is compared with the table of routes, both ways.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { Language, Parser, type Tree } from 'web-tree-sitter'
import { cmdletRoutes, cmdlets, POWERSHELL_MODULE } from '../../scripts/powershell/module.ts'
import { PROTECT, UNPROTECT } from '../../src/cli/sign-in/keyring.ts'
import { ROOT } from '../kit/processes.ts'

/** Of Microsoft's list for PowerShell; those that this module may use. */
const APPROVED = [
  'Add',
  'Approve',
  'Block',
  'Clear',
  'Complete',
  'Confirm',
  'Connect',
  'Copy',
  'Deny',
  'Disable',
  'Disconnect',
  'Enable',
  'Export',
  'Find',
  'Get',
  'Grant',
  'Import',
  'Invoke',
  'Measure',
  'Move',
  'New',
  'Publish',
  'Redo',
  'Register',
  'Remove',
  'Request',
  'Reset',
  'Restart',
  'Restore',
  'Resume',
  'Revoke',
  'Send',
  'Set',
  'Skip',
  'Start',
  'Step',
  'Stop',
  'Submit',
  'Suspend',
  'Sync',
  'Test',
  'Undo',
  'Unpublish',
  'Update',
  'Wait',
]
/** Variables and parameters that PowerShell keeps for itself. */
const RESERVED = [
  'args',
  'error',
  'event',
  'eventargs',
  'false',
  'foreach',
  'home',
  'host',
  'input',
  'matches',
  'myinvocation',
  'null',
  'pid',
  'profile',
  'psboundparameters',
  'pscmdlet',
  'pwd',
  'sender',
  'shellid',
  'stacktrace',
  'switch',
  'this',
  'true',
  'debug',
  'verbose',
  'erroraction',
  'warningaction',
  'informationaction',
  'errorvariable',
  'warningvariable',
  'outvariable',
  'outbuffer',
  'pipelinevariable',
  'progressaction',
  'whatif',
  'confirm',
]

describe('the PowerShell module', () => {
  const text = POWERSHELL_MODULE['Matoolkit.psm1']()
  const manifest = POWERSHELL_MODULE['Matoolkit.psd1']()
  const blocks = new Map(
    [...text.matchAll(/^function (\S+) \{\n([\s\S]*?)^\}/gm)].map(([, name, body]) => [
      name!,
      body!,
    ]),
  )
  let parser: Parser
  before(async () => {
    await Parser.init()
    parser = new Parser()
    const grammar = join(ROOT, 'test/fixtures/powershell/tree-sitter-powershell.wasm.gz')
    parser.setLanguage(await Language.load(gunzipSync(readFileSync(grammar))))
  })

  const faultsIn = (source: string): string[] => {
    const tree = parser.parse(source) as Tree
    const faults = tree.rootNode
      .descendantsOfType('ERROR')
      .map((node) => `line ${node!.startPosition.row + 1}: ${node!.text.slice(0, 60)}`)
    const isFaulty = tree.rootNode.hasError
    tree.delete()
    return isFaulty && faults.length === 0 ? ['something is missing'] : faults
  }

  it('is written in a grammar that reads what Windows runs to protect sign-ins', () => {
    for (const script of [PROTECT, UNPROTECT]) {
      assert.deepEqual(faultsIn(script), [])
      // Node quotes an argument for Windows, and PowerShell reads quotes again.
      assert.doesNotMatch(script, /["\n]/)
    }
  })

  // test/proof/powershell runs it. This keeps what a real PowerShell taught, where there is none.
  it('has next to it a host script that outlives what functions do', () => {
    const host = readFileSync(join(ROOT, 'src/worker/powershell/host.ps1'), 'utf8')
    assert.deepEqual(faultsIn(host), [])
    const tree = parser.parse(host) as Tree
    const called = tree.rootNode
      .descendantsOfType('do_statement')
      .filter((node) => node!.text.includes('& $command @arguments'))
    assert.equal(called.length, 1, 'break and continue in a function leave this loop, not its own')
    const runs = /^function Invoke-ForWorker[\s\S]*?^\}/m.exec(host)![0]
    assert.match(runs, /\{\n {4}Reset-Preferences\n/, 'no call inherits what another one set')
    assert.doesNotMatch(host, /\] = if /, 'an empty list must not become null')
    tree.delete()
  })

  it('is PowerShell, its manifest too', () => {
    assert.ok(text.startsWith('\uFEFF'), 'Windows PowerShell reads what is not ASCII wrong')
    assert.deepEqual(faultsIn(text.slice(1)), [])
    assert.deepEqual(faultsIn(manifest), [])
    assert.notDeepEqual(faultsIn(text.replace('process {', 'process {{{ (')), [])
  })

  // With Contains, which the dictionary of bound parameters hides, every cmdlet with a parameter failed in a real PowerShell.
  it('asks what is bound with ContainsKey', () => {
    assert.doesNotMatch(text, /\$Bound\.Contains\(/)
    assert.match(text, /\$Bound\.ContainsKey\(/)
  })

  it('is shown in docs/api.md with cmdlets and parameters that exist', () => {
    const document = readFileSync(join(ROOT, 'docs/api.md'), 'utf8')
    const [, examples] = /```powershell\n([\s\S]*?)```/.exec(document)!
    const used = [...examples!.matchAll(/(\w+-Mat\w+)([^\n|}]*)/g)].filter(
      ([, name]) => !name!.endsWith('Matoolkit'),
    )
    assert.ok(used.length > 3)
    for (const [, name, given] of used) {
      const known = [...(cmdlets().get(name!) ?? [])].flatMap(({ parameters }) =>
        parameters.map((one) => one.name),
      )
      for (const [, parameter] of given!.matchAll(/ -([A-Z]\w+)/g))
        assert.ok([...known, 'WhatIf', 'Confirm'].includes(parameter!), `${name} -${parameter}`)
    }
  })

  it('has a cmdlet for every endpoint that people use, and none for any other', () => {
    const called = [...text.matchAll(/-Method '(\w+)' -Path '([^']+)'/g)].map(
      ([, method, path]) => `${method} ${path}`,
    )
    assert.deepEqual(
      called.sort(),
      cmdletRoutes()
        .map(({ method, path }) => `${method} ${path}`)
        .sort(),
    )
    const exported = [...manifest.matchAll(/'(\w+-Mat\w+)'/g)].map(([, name]) => name)
    assert.deepEqual(
      exported.sort(),
      ['Connect-Matoolkit', 'Disconnect-Matoolkit', ...cmdlets().keys()].sort(),
    )
  })

  it('uses approved verbs and names of parameters that are free', () => {
    for (const [name, routes] of cmdlets()) {
      assert.ok(APPROVED.includes(name.split('-')[0]!), name)
      for (const { parameters } of routes)
        for (const parameter of parameters)
          assert.ok(!RESERVED.includes(parameter.name.toLowerCase()), `${name} -${parameter.name}`)
    }
  })

  it('asks before every change, and never for a read', () => {
    for (const [name, routes] of cmdlets()) {
      const body = blocks.get(name)!
      const changes = routes.filter(({ route }) => route.action !== null).length
      assert.equal(body.split('$PSCmdlet.ShouldProcess(').length - 1, changes, name)
      assert.equal(body.includes('SupportsShouldProcess = $true'), changes > 0, name)
      assert.match(body, /\.SYNOPSIS\n {4}[A-Z]/)
    }
    assert.match(blocks.get('Stop-MatBatch')!, /ConfirmImpact = 'High'/)
    assert.match(blocks.get('New-MatBatch')!, /-Creates -Upload/)
    assert.doesNotMatch(
      text,
      /\[Alias\('Id'\)\]/,
      'the id of a person must not become that of a batch',
    )
  })

  it('can tell the endpoints of one cmdlet apart by what must be given', () => {
    for (const [name, routes] of cmdlets()) {
      const needs = routes.map(({ parameters }) =>
        parameters
          .filter((one) => one.isMandatory)
          .map((one) => one.name)
          .sort()
          .join(),
      )
      assert.equal(new Set(needs).size, needs.length, name)
    }
  })
})
