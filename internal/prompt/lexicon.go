package prompt

import "strings"

// The lexicon: ordinary English words, all of regular inflection, so that plurals, pasts and participles are
// derived and not listed. The longer the lists, the rarer any run of words comes back.

const nouns = `
account acre actor address adult agent airport alarm album alley amount anchor angle animal ankle answer apple apron
arcade arch area argument arm army arrow artist aunt author avenue award baby badge bakery balcony ball balloon
banana band bank banner barn barrel basin basket bath battery battle bay beach beacon beam bean bear beard bed
bedroom bee bell belt bench berry bicycle bill bird biscuit blanket blossom board boat body bolt bone bonnet book
boot border bottle boulder bowl boy bracelet brain branch brand bread breeze brick bridge brother brush bucket bud
builder building bulb bundle burger bus butcher butter button cabin cabinet cable cafe cage cake calendar camel
camera camp canal candle candy cannon canoe canvas canyon cap captain car caravan card carpenter carpet carrot cart
castle cat cave ceiling cellar center century chain chair chalk chamber champion chapel chapter chart cheek cheese
cherry chest chicken chimney chin circle circus citizen city clerk cliff clinic clock cloth cloud clown club clue
coach coast coat coin collar college color column comb comet command company compass concert cook cookie copper copy
corner corridor cottage cotton couch cousin cover cow cradle crane crate crayon creature creek crew cricket crop
crowd crown crystal cup curtain cushion customer dancer daughter dawn day deal decade deck degree dentist desert
desk diamond diary dinner dish doctor dog doll dollar dolphin donkey door dragon drawer dream dress driver drum duck
duke dust duty eagle ear echo edge editor egg elbow elephant elevator emperor empire engine engineer entrance
envelope error event evening exam example eye face fact factory fan farm farmer father feast feather fence ferry
festival fiddle field finger fire flag flame flock floor flower flute folder forest fork fountain fox frame friend
fruit funnel gallery game garage garden garlic gate gift giraffe girl glacier glove goal goat grain grape grass
guard guest guide guitar hall hammer hand handle harbor harvest hat hawk hedge helmet herb hero highway hill hobby
honey hook horn horse hospital hotel hour house hunter idea insect inspector island ivory jacket jail jar jewel job
joke journal journey judge jug juice jungle kettle key king kitchen kite kitten knot label ladder lake lamp lane
lantern lawn lawyer leader lecture lemon lesson letter library lid light line lion list lizard lock log lumber lunch
machine magnet manager map marble margin market mask master match meadow meal medal melody member memory merchant
message metal meter mile mill miner minute mirror model moment monkey month moon morning mother motor mountain
museum muscle mushroom nail name napkin nation neck needle neighbor nephew nest net night noise north notebook novel
number nurse oak ocean office officer onion opera orange orchard orchestra organ otter oven owl owner package page
painter palace palm pan panel paper parade parcel parent park parrot party passage passenger path patient pattern
pea pear pebble pen pencil pepper picture pie pillow pilot pine pipe planet plant plate player pocket poem poet pond
pony porch port poster pot potato powder price prince prize problem program project pump pupil puppet purse puzzle
queen question quilt rabbit radio railway rain ranch reader recipe record region report result ribbon rider ring
river road robin robot rock room rooster root rope rose route ruler saddle sail sailor salad sample sand sauce saw
scale school scientist screen sculptor sea season seat secret seed sentence shadow shelter shepherd ship shirt shoe
shop shore shoulder shovel signal singer sister skirt sky slope snail snow soap sock sofa soldier son song soup
spider spoon squirrel stable stage stair stamp star station statue steam stone store storm story stranger stream
street string student sugar suitcase summer sun supper surface swan sweater table tailor teacher team temple tent
theater thread throne ticket tiger tile timber title toast tomato tool tortoise towel tower town toy track trader
trail train traveler treasure tree triangle tribe truck trumpet tunnel turtle uncle uniform valley vase vehicle
village violin visitor voice volcano wagon waiter wall wallet walnut water wave weapon weaver wedding week wheel
whistle widow willow wind window winter wire wizard worker world writer yard year zebra`

const verbs = `
accept admire adopt advise allow analyze answer appreciate approach arrange attack attend avoid bake balance borrow
bother brush calculate call capture carry carve celebrate change chase check claim clean climb collect color combine
command compare complete conceal confuse connect consider consult contain convince cook copy correct count cover
crack create cross cure damage decorate defend deliver demand describe deserve destroy detect develop discover
discuss divide doubt dress earn educate employ encourage enjoy enter escape estimate examine exchange explain
explore expect face fasten fear fill finish fix follow gather greet guard guess guide handle harvest help hire
identify imagine imitate improve include inform injure inspect instruct interview introduce invent invite join judge
kick label launch lift like list load locate lock love manage mark match measure melt mend mention mix moisten move
name need notice number obey observe obtain offer open order own paint pardon paste perform pick place polish pour
praise prepare present preserve press prevent print produce promise protect prove publish pull punish
purchase push question raise reach receive recognize record reduce reflect refuse remember remind remove repair
repeat replace report request rescue respect restore return reward roast rotate sail save scare scatter search
select serve settle shape share shelter signal smell soak sort spare spoil squeeze stack stretch study suggest
supply support surprise surround suspect taste tease test thank touch trace trade train transform transport trust
turn twist unite unpack use value view visit wait want warm warn wash watch water welcome whisper wipe witness
wonder worry yell`

const adjectives = `
able active afraid amber ancient angry annual autumn awake bare basic bitter black blank blue bold brave brief
bright broad broken brown busy calm careful central certain cheap cheerful civil clean clear clever cloudy coarse
cold common complete cool correct crimson crooked curious curved cute damp daring dark dear deep delicate dense
different dim distant double dry dull dusty eager early eastern easy elegant empty endless equal exact famous fancy
far fast faint fair fierce final fine firm flat foreign formal fragile free fresh friendly frozen full funny gentle
giant glad global golden good grand grateful gray great green handsome handy happy hard harsh healthy heavy helpful
hidden high hollow honest hot huge humble hungry icy ideal idle important indoor inner jolly joyful keen kind large
last late lazy lean lively local lonely long loose loud lovely lucky mad main major marine mellow mild minor modern
modest muddy narrow native natural neat new nice noble noisy normal northern nervous odd old open ordinary outer
pale past patient perfect plain pleasant polite poor popular precious pretty private proper proud public pure purple
quick quiet rapid rare raw ready real recent red regular rich rough round royal rural sad safe scarlet secret
serious shallow sharp shiny short shy silent silver simple single sleepy slender slight slow small smooth social
soft solar solid sore southern special square steady steep stiff still strange strict strong sturdy sudden sunny
sweet swift tall tame tender thick thin thirsty tidy tiny tired tough tropical true typical ugly uneven unusual
upper urban usual vacant vast violet vital vivid warm weak wealthy western wet white whole wide wild wise wooden
wrong yellow young`

const adverbs = `
again almost already also always badly boldly bravely briefly brightly calmly carefully cheaply clearly cleverly
closely coldly constantly correctly daily deeply eagerly early easily exactly fairly finally firmly fondly freely
freshly gently gladly gradually greatly happily heavily honestly hourly kindly lately lightly loudly mainly merely
mildly mostly nearly neatly nervously never nicely often once only openly partly patiently perhaps plainly politely
poorly promptly proudly quickly quietly quite rapidly rarely really recently roughly sadly safely seldom sharply
shortly shyly silently simply slowly smoothly softly sometimes soon steadily still strongly suddenly surely sweetly
swiftly then tightly twice usually warmly weakly weekly widely wildly wisely yearly`

// fillerWords are short and so common that most vocabularies hold each as one token: what exact lengths are made of.
const fillerWords = `
air all and any arm art as at bad bag bed big bit box boy but can car cat city cold cup dark day deep dog door eye
face far field fire fish five food form four free game good green hand hard head hill home hot house king land large
late light line long man map moon more new night north old open page park part play rain red river road rock room
sea six sky small song star sun ten time town tree two walk wall warm water west white wind word work world year`

// A class is a set of words that may stand in the same place of a sentence.
type class uint8

const (
	openSingular class = iota // capitalised, before a singular noun
	openPlural                // capitalised, before a plural
	singular                  // determiners
	plural
	noun
	nounPlural
	verbPast
	verbBase
	verbGerund
	modal
	adjective
	adverb
	preposition
	conjunction
	classes // how many there are
)

// lexicon holds the words of each class, each with its leading space.
type lexicon [classes][]string

// newLexicon derives the inflected forms. It is the same every time.
func newLexicon() *lexicon {
	n, v := words(nouns), words(verbs)
	lx := &lexicon{
		openSingular: words("The This That Every Each One Another Some"),
		openPlural:   words("The These Those Many Several Most Both Few"),
		singular:     words("the this that every each one another some"),
		plural:       words("the these those many several most both few"),
		noun:         n,
		nounPlural:   inflect(n, pluralOf),
		verbPast:     inflect(v, pastOf),
		verbBase:     v,
		verbGerund:   inflect(v, gerundOf),
		modal:        words("could would should might must can will may"),
		adjective:    words(adjectives),
		adverb:       words(adverbs),
		preposition:  words("above across after along among around before behind below beside between beyond by for from in inside into near of on outside over past through toward under upon with without"),
		conjunction:  words("and although as because before but if once or since so than though unless until when where whereas while yet"),
	}
	for c := range lx {
		for i, w := range lx[c] {
			lx[c][i] = " " + w
		}
	}
	return lx
}

// words splits a list and drops what it has twice, keeping the order.
func words(list string) []string {
	seen := map[string]bool{}
	var out []string
	for w := range strings.FieldsSeq(list) {
		if !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	return out
}

func inflect(list []string, form func(string) string) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = form(w)
	}
	return out
}

func pluralOf(w string) string {
	switch {
	case endsConsonantY(w):
		return w[:len(w)-1] + "ies"
	case hasSuffix(w, "s", "x", "ch", "sh", "to", "ro"):
		return w + "es"
	}
	return w + "s"
}

func pastOf(w string) string {
	switch {
	case endsConsonantY(w):
		return w[:len(w)-1] + "ied"
	case strings.HasSuffix(w, "e"):
		return w + "d"
	}
	return w + "ed"
}

func gerundOf(w string) string {
	switch {
	case strings.HasSuffix(w, "ie"):
		return w[:len(w)-2] + "ying"
	case strings.HasSuffix(w, "e"):
		return w[:len(w)-1] + "ing"
	}
	return w + "ing"
}

func endsConsonantY(w string) bool {
	n := len(w)
	return n > 1 && w[n-1] == 'y' && !strings.ContainsRune("aeiou", rune(w[n-2]))
}

func hasSuffix(w string, endings ...string) bool {
	for _, e := range endings {
		if strings.HasSuffix(w, e) {
			return true
		}
	}
	return false
}
