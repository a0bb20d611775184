import { getOrAdd } from '../base/collections/get-or-add.ts';

/** Time zones of the IANA database, as the runtime has them. */

/**
 * Further names of zones in the database. The runtime knows them in any case of letters, tells none of them apart from what
 * it made up itself, and lists one name of each zone.
 */
const links = [
  'Africa: Asmara Timbuktu',
  'America: Atikokan Atka Ensenada Fort_Wayne Knox_IN Montreal Nipigon Nuuk Pangnirtung Porto_Acre Rainy_River Rosario',
  'America: Santa_Isabel Shiprock Thunder_Bay Virgin Yellowknife Indiana/Indianapolis Kentucky/Louisville',
  'America/Argentina: Buenos_Aires Catamarca ComodRivadavia Cordoba Jujuy Mendoza',
  'Antarctica: South_Pole',
  'Asia: Ashkhabad Choibalsan Chongqing Chungking Dacca Harbin Ho_Chi_Minh Istanbul Kashgar Kathmandu Kolkata Macao',
  'Asia: Tel_Aviv Thimbu Ujung_Pandang Ulan_Bator Yangon',
  'Atlantic: Faroe Jan_Mayen',
  'Australia: ACT Canberra Currie LHI NSW North Queensland South Tasmania Victoria West Yancowinna',
  'Brazil: Acre DeNoronha East West',
  'Canada: Atlantic Central Eastern Mountain Newfoundland Pacific Saskatchewan Yukon',
  'Chile: Continental EasterIsland',
  'Etc: GMT GMT+0 GMT-0 GMT0 Greenwich UCT UTC Universal Zulu GMT-13 GMT-14',
  'Etc: GMT+1 GMT+2 GMT+3 GMT+4 GMT+5 GMT+6 GMT+7 GMT+8 GMT+9 GMT+10 GMT+11 GMT+12',
  'Etc: GMT-1 GMT-2 GMT-3 GMT-4 GMT-5 GMT-6 GMT-7 GMT-8 GMT-9 GMT-10 GMT-11 GMT-12',
  'Europe: Belfast Kyiv Nicosia Tiraspol Uzhgorod Zaporozhye',
  'Mexico: BajaNorte BajaSur General',
  'Pacific: Chuuk Johnston Kanton Pohnpei Samoa Yap',
  'US: Alaska Aleutian Arizona Central East-Indiana Eastern Hawaii Indiana-Starke Michigan Mountain Pacific Samoa',
  'CET CST6CDT Cuba EET EST EST5EDT Egypt Eire GB GB-Eire GMT GMT+0 GMT-0 GMT0 Greenwich HST Hongkong Iceland Iran',
  'Israel Jamaica Japan Kwajalein Libya MET MST MST7MDT NZ NZ-CHAT Navajo PRC PST8PDT Poland Portugal ROC ROK',
  'Singapore Turkey UCT UTC Universal W-SU WET Zulu',
];

function* linkNames(): Generator<string> {
  for (const line of links) {
    const [names = '', area] = line.split(': ').reverse();
    for (const name of names.split(' ')) yield area === undefined ? name : `${area}/${name}`;
  }
}

let names: ReadonlySet<string> | undefined;

/** Whether a zone has this name, in the letters of the database: `Europe/Rome`, not `europe/rome`. */
export function isTimeZone(name: string): boolean {
  names ??= new Set([...Intl.supportedValuesOf('timeZone'), ...linkNames()]);
  return names.has(name) && formatFor(name) !== undefined;
}

/** What a zone adds to UTC at a time, in milliseconds. Undefined if there is no such zone; the case of letters is ignored. */
export function zoneOffsetMs(zone: string, at: number): number | undefined {
  if (zone === 'UTC' || zone === '') return 0;
  const format = formatFor(zone);
  if (!format) return undefined;
  const fields: Record<string, number> = {};
  for (const { type, value } of format.formatToParts(at)) fields[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = fields;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1000) * 1000;
}

/** By the name of the zone in lower case. Making one takes some tenths of a millisecond; there are about 600 zones. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatFor(zone: string): Intl.DateTimeFormat | undefined {
  try {
    return getOrAdd(formats, zone.toLowerCase(), () => newFormat(zone));
  } catch {
    return undefined;
  }
}

function newFormat(timeZone: string): Intl.DateTimeFormat {
  const n = 'numeric';
  return new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: n,
    month: n,
    day: n,
    hour: n,
    minute: n,
    second: n,
  });
}
