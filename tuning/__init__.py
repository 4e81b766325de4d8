"""The papers' tables: each module declares one, and ``python -m tuning TABLE`` runs it. Nothing here ships.

``table`` says what a declaration holds, ``command`` reads what is asked for, ``engine`` runs it as a sweep of
``dense_lstm_zoo.search``, ``columns`` makes a row of ``results/`` of what came out.
"""
