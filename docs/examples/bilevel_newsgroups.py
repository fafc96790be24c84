"""The bilevel classifier (Epshteyn and DeJong 2006) and a support vector machine on two newsgroups, from few posts.

Each post is a vector of word frequencies of norm 1.  The classifier keeps the means of both classes, as uncertain as
the few posts leave them, some standard deviations from the hyperplane; the machine sees the posts alone.  The archive
`20news-bydate.tar.gz` is found in the data folder (`CENTRALPATH_DATA`) or downloaded.
"""

import re
from collections import Counter

import numpy as np

from bench.data import newsgroups
from models import SVC, BilevelClassifier

GROUPS = ("rec.autos", "sci.space")


def frequencies(texts, vocabulary):
    """Return word frequencies as rows of norm 1, one per text."""
    places = {word: k for k, word in enumerate(vocabulary)}
    X = np.zeros((len(texts), len(vocabulary)))
    for row, text in zip(X, texts):
        for word in text:
            if word in places:
                row[places[word]] += 1.0
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)


def main(posts=30, words=1000):
    found = newsgroups(groups=GROUPS)
    texts = [re.findall("[a-z]{4,}", text.lower()) for text in found.bodies]
    known = np.flatnonzero(found.is_train)
    count = Counter(word for k in known for word in set(texts[k]))
    vocabulary = [word for word, _ in count.most_common(words)]
    X, y = frequencies(texts, vocabulary), found.groups
    rng = np.random.default_rng(0)
    drawn = np.concatenate([rng.choice(known[y[known] == group], posts, replace=False) for group in GROUPS])
    test = ~found.is_train
    accuracy = {}
    for name, model in (("bilevel", BilevelClassifier()), ("machine", SVC(kernel="linear"))):
        model.fit(X[drawn], y[drawn])
        accuracy[name] = np.mean(model.predict(X[test]) == y[test])
        print(f"{name}: {accuracy[name]:.1%} of {test.sum()} later posts are told apart, after {2 * posts} posts")
    return accuracy


if __name__ == "__main__":
    main()
