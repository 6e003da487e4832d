// The recipes of CONTRIBUTING name every place. Each is compared with something that the program already has: the files that name it
// are the places of the recipe, no more and no fewer.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { projectFiles } from './tidy/source.ts'

interface Recipe {
  /** Something that was added in this way, as code and documents name it. */
  readonly example: RegExp
  /** Places of the recipe that this example did not need, and why. */
  readonly unused?: Readonly<Record<string, string>>
  /** Files that name the example for a reason of their own. */
  readonly elsewhere?: Readonly<Record<string, string>>
}

const RECIPES: Readonly<Record<string, Recipe>> = {
  'Add a setting': {
    example: /\btickIntervalSec\b|MATOOLKIT_TICK_INTERVAL_SEC/,
    unused: { 'src/base/settings/kinds.ts': 'its kind was there' },
  },
  'Add an error': {
    example: /GATE_NOT_FOUND/,
    elsewhere: { 'src/engine/orders/gates.ts': 'throws it' },
  },
  'Add an endpoint': {
    example: /\bgetBatchSummary\b/,
    unused: {
      'src/api/routes.ts': 'its file was listed',
      'src/db/views/': 'it is no list',
      'test/api/contract.test.ts': 'reads covers(…)',
    },
  },
  'Add a function with its inverse': {
    example: /Set-EntraUserManager|setEntraUserManager|\bManagerId\b|\bmanagerId\b/,
    unused: {
      'sandbox/graph/routes.ts': 'names the handler by another word',
      'sandbox/exchange/cmdlets.ts': 'it calls Graph',
      'test/sandbox/anything.test.ts': 'its path segments were there',
      'test/app/rehearsal/expected-tenants.test.ts': 'its parameter names a person',
      'test/m365/functions/request-sources.ts': 'names the path of the call',
      'test/m365/functions/standard.test.ts': 'an example uses it',
      'test/m365/functions/tenants.ts': 'its people were there',
      'docs/cut-over-night.md': 'speaks of functions in general',
    },
    elsewhere: {
      'test/app/rehearsal/rollback-check.test.ts': 'tries a change of each property',
      'test/m365/functions/entra.test.ts': 'stories of its own',
      'test/m365/functions/function-guards.test.ts': 'where apps may not read it',
    },
  },
  'Add a runbook key': {
    example: /removals_after_start|removalsAfterStart/,
    unused: {
      'src/domain/runbook/text-formats.ts': 'it is a choice',
      'src/domain/runbook/rules.ts': 'it needs no other key',
      'src/domain/runbook/problems.ts': 'it has no problem of its own',
    },
    elsewhere: {
      'examples/user-migration.yaml': 'uses it',
      'test/stories/programme-leavers.test.ts': 'tells what it does',
    },
  },
  'Add a column to a phase': {
    example: /\bsoakEndsAt\b|\bsoak_ends_at\b/,
    unused: {
      'test/db/state/columns.test.ts': 'compares all columns',
      'test/domain/decide/': 'a story tells it',
      'src/cli/commands/batch/lists.ts': 'shown as a text with others',
      'src/db/invariants/': 'a CHECK holds it',
      'test/stories/': 'tells of the soak, not of the column',
    },
    elsewhere: {
      'src/engine/transactions/finish.ts': 'wakes the timers for it',
      'src/db/state/phases.ts': 'finds what is due by it',
      'src/db/views/rehearsal.ts': 'finds what comes next',
      'src/domain/plan/ramp-shares.ts': 'the texts of shares',
      'test/domain/plan/ramp-shares.test.ts': 'the texts of shares',
      'src/domain/needs/stuck.ts': 'says why a phase waits',
      'test/proof/simulation/events.ts': 'finds what comes next',
      'test/proof/simulation/night-mutants.ts': 'a mistake with it',
    },
  },
  'Add a step field': {
    example: /\blastPolledAt\b|\blast_polled_at\b/,
    unused: {
      'src/cli/commands/step.ts': 'shown as a text with others',
      'test/house/step-fields.test.ts': 'it is shown and written',
      'test/db/invariants/': 'its rule has a violation of another field',
    },
  },
  'Add a need': {
    example: /rows_left_out/,
    unused: {
      'src/domain/needs/from-work.ts': 'it arrives from outside',
      'test/stories/needs.test.ts': 'a tick finds it',
    },
    elsewhere: {
      'src/cli/commands/handover.ts': 'a column of the handover',
      'test/domain/needs/decisions.test.ts': 'an example of what may wait',
    },
  },
}

const root = join(import.meta.dirname, '../..')
const files = projectFiles(root)
const contributing = files.find(({ path }) => path === 'CONTRIBUTING.md')!.text

const PLACE = /`((?:src|test|sandbox|dashboard|sql|docs|examples)\/[\w./-]*)`|\]\((docs\/[\w.-]+)/g

const placesOf = (heading: string): string[] => {
  const section = contributing.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0]
  assert.ok(section, `CONTRIBUTING.md has no "${heading}"`)
  return [...new Set([...section.matchAll(PLACE)].map(([, path, link]) => (path ?? link)!))]
}

/** Written by `npm run docs`, released, or about the past. */
const WRITTEN =
  /^docs\/(?:openapi\.json|runbook\.schema\.json|api\.md|reference\/[\w.-]+)$|^\.env\.example$|^CHANGELOG\.md$|^src\/m365\/standard-functions\.json$|^test\/m365\/functions\/requests\.http$|^test\/fixtures\/|^test\/house\/recipes\.test\.ts$/

const isIn = (file: string, place: string): boolean =>
  place.endsWith('/') ? file.startsWith(place) : file === place

describe('the recipe', () => {
  for (const [heading, { example, unused = {}, elsewhere = {} }] of Object.entries(RECIPES)) {
    const named = files
      .filter(({ path, text }) => !WRITTEN.test(path) && example.test(text))
      .map(({ path }) => path)
    const places = placesOf(heading)

    it(`"${heading}" leaves out no place`, () => {
      assert.ok(named.length > 0, `nothing names ${example}: choose another example`)
      const known = Object.keys(elsewhere)
      const missing = named.filter(
        (file) => !known.includes(file) && !places.some((place) => isIn(file, place)),
      )
      assert.deepEqual(missing, [], 'name the place in CONTRIBUTING.md, or say in RECIPES why not')
    })

    it(`"${heading}" names only places that one touches`, () => {
      const untouched = places.filter(
        (place) => !Object.hasOwn(unused, place) && !named.some((file) => isIn(file, place)),
      )
      assert.deepEqual(untouched, [])
      const there = files.map(({ path }) => path)
      const gone = places.filter((place) => !there.some((file) => isIn(file, place)))
      assert.deepEqual(gone, [], 'files that are not there')
      const idle = Object.keys(unused).filter((place) => !places.includes(place))
      assert.deepEqual(idle, [], 'in RECIPES, and not in CONTRIBUTING.md')
    })
  }
})
