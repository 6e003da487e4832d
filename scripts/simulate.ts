// `npm run simulate`: the seeded world of test/simulation, as many seeds as wanted. `--help` says what can be asked.
import { main } from '../test/simulation/main.ts'

process.exit(await main(process.argv.slice(2)))
